"""Times and numbers as a person says them."""

from datetime import UTC, datetime


def age(timestamp: str) -> str:
    """Returns how long ago that was."""
    return duration((datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds())


def short_age(timestamp: str) -> str:
    """Returns how long ago that was, in a few characters: now, 5m, 3h, 2d."""
    text = age(timestamp)
    number, unit = text.split()
    return "now" if unit == "s" else f"{number}{unit[0]}"


def clock_time(timestamp: str) -> str:
    """Returns when that was, by the clock of this place; with the day when that was not today."""
    if not timestamp:
        return ""
    then, now = datetime.fromisoformat(timestamp).astimezone(), datetime.now().astimezone()
    if then.date() == now.date():
        return f"{then:%H:%M}"
    return f"{then.day} {then:%b %H:%M}" if then.year == now.year else f"{then:%Y-%m-%d %H:%M}"


def duration(seconds: float) -> str:
    """Returns the largest unit that fits, in full."""
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def counted(number: int, noun: str) -> str:
    """Returns `number` and its noun, in the plural where it is due."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
