"""Reads the end of a session file. Pure."""

import re
from datetime import datetime

from trimpoint.sessionlogs.claude.clears import COMMANDS

_TIME = re.compile(rb'"timestamp":\s*"([0-9T:.Z+-]{19,32})"')
_PROCESS = re.compile(rb'"session_id":\s*"([0-9a-fA-F-]{36})"')
_SESSION = re.compile(rb'"sessionId":\s*"([0-9a-fA-F-]{36})"')
_QUEUED = re.compile(
    rb'"type":\s*"queue-operation",\s*"operation":\s*"enqueue"[^\n]*"content":\s*"(%s)"'
    % b"|".join(command.encode() for command in COMMANDS)
)


def last_time_in(data: bytes) -> datetime | None:
    """Returns the latest time in the rows."""
    times: list[datetime] = []
    for text in _TIME.findall(data):
        try:
            times.append(datetime.fromisoformat(text.decode()))
        except ValueError:
            continue
    return max((one for one in times if one.tzinfo is not None), default=None)


def queues_clear(data: bytes) -> bool:
    """Returns whether a clear was queued, as programs without a terminal do."""
    return _QUEUED.search(data) is not None


def process_session_in(data: bytes) -> str | None:
    """Returns the session with which the last writing process started, or None."""
    return _last(_PROCESS, data)


def session_in(data: bytes) -> str | None:
    """Returns the session that the last row names, or None."""
    return _last(_SESSION, data)


def _last(pattern: re.Pattern[bytes], data: bytes) -> str | None:
    found = pattern.findall(data)
    return found[-1].decode() if found else None
