"""Times as text. The journal keeps milliseconds since the epoch; clients read RFC 3339."""

from datetime import UTC, datetime


def rfc3339(at_ms: int) -> str:
    """Renders `at_ms` (milliseconds since the epoch) in UTC, with milliseconds:
    `2026-01-31T09:05:00.250Z`.
    """
    seconds, milliseconds = divmod(at_ms, 1000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=1000 * milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
