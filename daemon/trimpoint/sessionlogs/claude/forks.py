"""Finds the rows that `--fork-session` copied from another session file. Pure.

The copies keep their uuids and times. In older versions they keep the id of their session too
(measured: 2.0.77), in newer ones they get that of the new session. Then the origin is only in
`session_id`, the session with which the writing process started; the first row of the new process
has the new id there (measured: 2.1.332).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

SESSION = b'"sessionId":"'
PROCESS = b'"session_id":"'
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
