"""Formats times and counts for people."""

from datetime import UTC, datetime


def age(timestamp: str) -> str:
    """Returns how long ago `timestamp` was, such as `3 h`."""
    return duration((datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds())


def short_age(timestamp: str) -> str:
    """Returns how long ago `timestamp` was, in a few characters: now, 5m, 3h, 2d."""
    text = age(timestamp)
    number, unit = text.split()
    return "now" if unit == "s" else f"{number}{unit[0]}"


def clock_time(timestamp: str) -> str:
    """Returns `timestamp` as a local time of day, with the date if it was not today."""
    if not timestamp:
        return ""
    then, now = datetime.fromisoformat(timestamp).astimezone(), datetime.now().astimezone()
    if then.date() == now.date():
        return f"{then:%H:%M}"
    return f"{then.day} {then:%b %H:%M}" if then.year == now.year else f"{then:%Y-%m-%d %H:%M}"


def duration(seconds: float) -> str:
    """Returns a duration in the largest unit that fits, such as `3 h`."""
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"
