"""Formats timestamps. The journal stores milliseconds since the epoch; clients read RFC 3339."""

from datetime import UTC, datetime


def rfc3339(at_ms: int) -> str:
    """Returns `at_ms` (milliseconds since the epoch) as RFC 3339 text in UTC with milliseconds,
    such as `2026-01-31T09:05:00.250Z`.
    """
    seconds, milliseconds = divmod(at_ms, 1000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=1000 * milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
