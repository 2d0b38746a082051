"""Finds the rows that `--fork-session` copied from another session file. Pure.

The copies keep their uuids and times. In older versions they keep the id of their session too
(measured: 2.0.77), in newer ones they get that of the new session. Then the origin is only in
`session_id`, the session with which the writing process started; the first row of the new process
has the new id there (measured: 2.1.332). A process without a terminal writes no `session_id`: then
copied answers alone name their session, in `requestSessionId` (measured: 2.1.332).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

SESSION = b'"sessionId":"'
PROCESS = b'"session_id":"'
REQUEST = b'"requestSessionId":"'
_ID = re.compile(rb'([0-9a-fA-F-]{36})"')
_UUID = re.compile(rb'"uuid":"([0-9a-fA-F-]{36})"')


class Copied(NamedTuple):
    """A number of lines that were copied from the file of another session, which has a row `uuid`.
    The first row of the session's own is in line `own_line`.
    """

    origin: str
    lines: int
    uuid: bytes
    own_line: int
    own_uuid: bytes


def first_named(member: bytes, data: bytes) -> str | None:
    """Returns the session that the first rows name in this member, or None."""
    at = data.find(member)
    found = _ID.match(data, at + len(member)) if at >= 0 else None
    return found[1].decode() if found is not None else None


def copied_rows(session_id: str, lines: Iterable[bytes], member: bytes) -> Copied | None:
    """Returns the rows that name another session in this member; None if no row of the session's
    own follows.
    """
    own = member + session_id.encode() + b'"'
    origin: str | None = None
    uuid: bytes | None = None
    copied = 0
    for number, line in enumerate(lines, 1):
        named = _UUID.search(line)
        if own in line:
            if origin is None or uuid is None:
                return None
            return Copied(origin, copied, uuid, number, named[1] if named is not None else b"")
        if uuid is None and named is not None:
            uuid = named[1]
        if (named_here := first_named(member, line)) is not None:
            origin, copied = named_here, number
    return None


def requesters(session_id: str, lines: Iterable[bytes]) -> list[str]:
    """Returns the other sessions that rows name as those of their request, the last named one
    first. A copy of a copy names both of its origins.
    """
    named: dict[str, None] = {}
    for line in lines:
        found = first_named(REQUEST, line)
        if found is not None and found != session_id:
            named.pop(found, None)
            named[found] = None
    return [*reversed(named)]


def uuids_of(lines: Iterable[bytes]) -> set[bytes]:
    """Returns the uuids of rows."""
    return {found[1] for line in lines if (found := _UUID.search(line)) is not None}


def lines_up_to(uuids: set[bytes], lines: Iterable[bytes]) -> int:
    """Returns the number of the last line with one of these uuids; 0 if there is none."""
    last = 0
    for number, line in enumerate(lines, 1):
        found = _UUID.search(line)
        if found is not None and found[1] in uuids:
            last = number
    return last
