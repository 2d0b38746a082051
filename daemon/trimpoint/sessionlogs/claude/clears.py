"""Finds the session in which a `/clear` started another one, with a confidence. Pure.

A `/clear` of Claude Code starts a new file, and nothing in the old file records it. The evidence is
in the first rows of the new file, in `history.jsonl`, and in commands that a program without a
terminal had queued in the old file.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.rows import BadLine, Row, row_of

TOLERANCE = timedelta(seconds=2)
CLEARED_IN_PLACE = 0.8
QUEUED_WITHIN = timedelta(seconds=30)
COMMANDS = ("/clear", "/reset", "/new")
_COMMAND = re.compile(r"<command-name>(/clear|/reset|/new)</command-name>")
FIRST_ROWS = 64


class Typed(NamedTuple):
    """A command in `history.jsonl`."""

    at: datetime
    session_id: str | None


class Head(NamedTuple):
    """The first rows of a file: it begins with a clear; `at` is its time, and `process_session` the
    session that the process started with.
    """

    session_id: str
    timestamp: str
    at: datetime
    process_session: str | None


class _HistoryRow(msgspec.Struct, rename="camel"):
    display: str | None = None
    timestamp: int | None = None
    session_id: str | None = None


def typed_clears(lines: Iterable[bytes]) -> list[Typed]:
    """Returns the clears that were typed. Early versions do not record in which session."""
    found: list[Typed] = []
    for line in lines:
        if b"/" not in line:
            continue
        try:
            row = msgspec.json.decode(line, type=_HistoryRow)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        words = (row.display or "").split()
        if words and words[0] in COMMANDS and row.timestamp is not None:
            found.append(Typed(datetime.fromtimestamp(row.timestamp / 1000, UTC), row.session_id))
    return found


def head_of(session_id: str, lines: Iterable[bytes]) -> Head | None:
    """Returns the beginning of a session that starts with a clear; None for any other session, also
    for a branch, which has the clear of its origin.
    """
    rows = list(_rows(lines))
    begun = next((row for row in rows if _is_clear(row)), None)
    at = time_of(begun.timestamp) if begun is not None else None
    if begun is None or at is None or begun.forked_from or _has_message_before(rows, begun):
        return None
    others = (row.first_session for row in rows if row.first_session)
    process = next((other for other in others if other != session_id), None)
    return Head(session_id, begun.timestamp or "", at, process)


def _rows(lines: Iterable[bytes]) -> Iterable[Row]:
    for number, line in enumerate(lines):
        if number >= FIRST_ROWS:
            return
        try:
            yield row_of(line)
        except BadLine:
            continue


def _is_clear(row: Row) -> bool:
    content = row.message.content if row.message is not None and row.type == "user" else None
    return isinstance(content, str) and _COMMAND.search(content[:400]) is not None


def _has_message_before(rows: list[Row], clear: Row) -> bool:
    before = rows[: rows.index(clear)]
    return any(row.type in ("user", "assistant") and not row.is_meta for row in before)


def time_of(timestamp: str | None) -> datetime | None:
    """Parses a time with a zone; None if it is not one."""
    try:
        found = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def typed_between(typed: Iterable[datetime], before: str | None, after: str | None) -> bool:
    """Returns whether one of these commands was typed between two times."""
    begins, ends = time_of(before), time_of(after)
    if begins is None or ends is None:
        return False
    return any(begins - TOLERANCE <= at <= ends + TOLERANCE for at in typed)


def cleared_in_place(session_id: str, after: int, timestamp: str | None) -> u.ClearRecord:
    """Returns the clear of a version that went on in the same file."""
    return u.ClearRecord(
        after_message_index=after,
        timestamp=timestamp,
        kind="clear",
        from_session=session_id,
        to_session=session_id,
        confidence=CLEARED_IN_PLACE,
        evidence=[
            u.Evidence(kind="history", detail="history.jsonl has it for this session"),
            u.Evidence(kind="root", detail="the next prompt has no parent"),
        ],
    )


class Neighbour(NamedTuple):
    """Another session of the same project. `last` is the time of its last row; `queued_clear`: it
    ends with a queued clear; `process_session` is the session that its last process started with.
    """

    session_id: str
    last: datetime | None
    queued_clear: bool
    process_session: str | None = None


def clear_behind(head: Head, typed: list[Typed], neighbours: list[Neighbour]) -> u.Clear:
    """Returns the clear that started a session, with the session in which it was typed if that is
    known.
    """
    evidence = [u.Evidence(kind="record", detail=f"{head.session_id} begins with the command")]
    named: list[str] = []
    history = [one for one in typed if abs(one.at - head.at) <= TOLERANCE and one.session_id]
    if history and history[0].session_id != head.session_id:
        named.append(str(history[0].session_id))
        evidence.append(u.Evidence(kind="history", detail="history.jsonl has it within 2 s"))
    before = _in_the_process(head, neighbours)
    if before is not None and (not named or before in named):
        named.append(before)
        evidence.append(u.Evidence(kind="process", detail="rows name the session of the process"))
    queued = [one for one in neighbours if one.queued_clear and _is_just_before(one, head)]
    if len(queued) == 1 and (not named or queued[0].session_id == named[0]):
        named.append(queued[0].session_id)
        evidence.append(
            u.Evidence(kind="queue", detail="the old file ends with the queued command")
        )
    if named:
        confidence = 0.99 if len(named) >= 2 else 0.95
        return _clear(head, named[0], confidence, evidence)
    active = sorted(
        (one for one in neighbours if one.last is not None and one.last <= head.at + TOLERANCE),
        key=lambda one: one.last or head.at,
    )
    if not active:
        return _clear(head, None, 0.9, evidence)
    others = sum(1 for one in active[:-1] if _is_just_before(one, head))
    evidence.append(u.Evidence(kind="newest", detail="the last changed session of the project"))
    return _clear(head, active[-1].session_id, 0.6 * 0.5**others, evidence)


def _in_the_process(head: Head, neighbours: list[Neighbour]) -> str | None:
    """Returns the newest session that the same process had before the clear. Rows only name the
    process's first session, whichever one the clear was typed in.
    """
    first = head.process_session
    if first is None:
        return None
    had = [
        one
        for one in neighbours
        if first in (one.session_id, one.process_session) and one.session_id != head.session_id
    ]
    earlier = [one for one in had if one.last is not None and one.last <= head.at + TOLERANCE]
    newest = max(earlier, key=lambda one: one.last or head.at, default=None)
    if newest is not None:
        return newest.session_id
    return first if len(had) <= 1 else None


def _is_just_before(one: Neighbour, head: Head) -> bool:
    return one.last is not None and abs(one.last - head.at) <= QUEUED_WITHIN


def _clear(
    head: Head, origin: str | None, confidence: float, evidence: list[u.Evidence]
) -> u.Clear:
    return u.Clear(
        after_message_index=-1,
        timestamp=head.timestamp,
        kind="clear",
        from_session=origin,
        to_session=head.session_id,
        confidence=round(confidence, 3),
        evidence=evidence,
    )
