"""Finds the rows that `--fork-session` copied from another session file. Pure.

The copies keep their uuids and times and get the id of the new session. The origin is only in
`session_id`, the session with which the writing process started; the first row of the new process
has the new id there (measured: 2.1.332).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

PROCESS = b'"session_id":"'
_PROCESS = re.compile(rb'"session_id":"([0-9a-fA-F-]{36})"')
_UUID = re.compile(rb'"uuid":"([0-9a-fA-F-]{36})"')


class Copied(NamedTuple):
    """A number of lines that were copied from the file of another session, which has a row
    `uuid`.
    """

    origin: str
    lines: int
    uuid: bytes


def first_process_session(head: bytes) -> str | None:
    """Returns the session with which the process started that wrote the first rows, or None."""
    at = head.find(PROCESS)
    found = _PROCESS.match(head, at) if at >= 0 else None
    return found[1].decode() if found is not None else None


def copied_rows(session_id: str, lines: Iterable[bytes]) -> Copied | None:
    """Returns the copied rows; None if no row of the session's own process follows."""
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
