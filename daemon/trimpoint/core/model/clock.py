"""Formats timestamps. The journal stores milliseconds since the epoch; clients read RFC 3339."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(at_ms: int) -> str:
    """Returns `at_ms` (milliseconds since the epoch) as RFC 3339 text in UTC with milliseconds,
    such as `2026-01-31T09:05:00.250Z`.
    """
    seconds, milliseconds = divmod(at_ms, 1000)
    return f"{_whole_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1024)
def _whole_second(seconds: int) -> str:
    # What happened at one time is asked for together.
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
