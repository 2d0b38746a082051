"""Finds the rows that `--fork-session` copied from another session file. Pure.

The copies keep their uuids and times and get the new session's id; nothing names the origin but
`session_id`, the session that the writing process began with. The first row of the new process has
the new id there (measured: 2.1.332).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

PROCESS = b'"session_id":"'
_PROCESS = re.compile(rb'"session_id":"([0-9a-fA-F-]{36})"')
_UUID = re.compile(rb'"uuid":"([0-9a-fA-F-]{36})"')


class Copied(NamedTuple):
    """So many lines of a file are copied from the file of another session, which has a row with
    `uuid`.
    """

    origin: str
    lines: int
    uuid: bytes


def first_process_session(head: bytes) -> str | None:
    """Returns the first session of the process that wrote the first rows, if they say it."""
    at = head.find(PROCESS)
    found = _PROCESS.match(head, at) if at >= 0 else None
    return found[1].decode() if found is not None else None


def copied_rows(session_id: str, lines: Iterable[bytes]) -> Copied | None:
    """Returns what is copied, None where no process of the session's own follows."""
    own = PROCESS + session_id.encode() + b'"'
    origin: str | None = None
    uuid: bytes | None = None
    copied = 0
    for number, line in enumerate(lines, 1):
        if own in line:
            return Copied(origin, copied, uuid) if origin is not None and uuid is not None else None
        if uuid is None and (named := _UUID.search(line)) is not None:
            uuid = named[1]
        if (found := _PROCESS.search(line)) is not None:
            origin, copied = found[1].decode(), number
    return None
