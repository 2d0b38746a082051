"""Finds the sessions of Claude Code below its configuration folder."""

import io
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.clears import (
    COMMANDS,
    Head,
    Neighbour,
    Typed,
    clear_behind,
    head_of,
    typed_clears,
)
from trimpoint.sessionlogs.claude.ending import ClaudeEnding
from trimpoint.sessionlogs.claude.forks import (
    PROCESS,
    REQUEST,
    SESSION,
    Copied,
    copied_rows,
    first_named,
    lines_up_to,
    requesters,
    uuids_of,
)
from trimpoint.sessionlogs.claude.reader import ClaudeReader
from trimpoint.sessionlogs.opening import (
    CannotRead,
    bytes_of,
    found_below,
    opened,
    shown,
    status_of,
)
from trimpoint.sessionlogs.sessions import FoundSession
from trimpoint.sessionlogs.text.lines import lines_of

MEMORY = "session-memory/summary.md"
SUB_AGENT = "agent-"
HEAD_BYTES = 16 * 1024
# The rows behind a clear up to the first answer: requests of 40 KB and more stand between them.
CLEARED_HEAD_BYTES = 512 * 1024
TAIL_BYTES = 64 * 1024
FORKED_HEAD_BYTES = 64 * 1024
FORKED_FROM = b'"forkedFrom"'
MAX_COPIED_ROWS = 100_000
MIN_CONFIDENCE = 0.5
_MARKS = tuple(f"{command}</command-name>".encode() for command in COMMANDS)


def claude_sessions(home: Path) -> Iterator[FoundSession]:
    """Yields the session of each file, and those of sub-agents."""
    typed = typed_clears(_lines(home / "history.jsonl"))
    for project in found_below(home / "projects", "*"):
        paths = found_below(project, "*.jsonl")
        mains = [path for path in paths if not path.name.startswith(SUB_AGENT)]
        clears = _clears(mains, typed)
        for path in mains:
            yield _main_session(path, clears, typed)
            for side in found_below(project / path.stem / "subagents", "**/agent-*.jsonl"):
                yield _side_session(side, id_of(path))
        for path in paths:
            if path.name.startswith(SUB_AGENT):  # as older versions keep them
                yield _side_session(path, session_in(bytes_of(path, -TAIL_BYTES, TAIL_BYTES)))


def id_of(path: Path) -> str:
    """Returns the id of the session in a file, which is its name."""
    return shown(path.stem)


def _side_session(path: Path, parent: str | None) -> FoundSession:
    return _session(path, id_of(path), u.Lineage(parent=parent), [], is_side=True)


def _main_session(path: Path, clears: list[u.Clear], typed: list[Typed]) -> FoundSession:
    session_id = id_of(path)
    here = tuple(one.at for one in typed if one.session_id == session_id)
    lineage, copied = lineage_of(session_id, clears), None
    if lineage is None and (copied := _copied(path, session_id)) is not None:
        lineage = u.Lineage(forked_from=copied.origin)
    lines = copied.lines if copied is not None else 0
    return _session(path, session_id, lineage, clears, typed=here, copied_lines=lines)


def _copied(path: Path, session_id: str) -> Copied | None:
    """Returns which rows a file has copied from another. Where only the process tells, a file
    beside it must have the same row.
    """
    head = bytes_of(path, 0, FORKED_HEAD_BYTES)
    if FORKED_FROM in head:
        return None
    for member in (SESSION, PROCESS):
        if first_named(member, head) in (None, session_id):
            continue
        with suppress(CannotRead, OSError, ValueError), opened(path) as file:
            lines = islice(lines_of(file), MAX_COPIED_ROWS)
            copied = copied_rows(session_id, lines, member)
            if copied is None:
                continue
            if member == SESSION:
                return _with_last(path, copied)
            if _has(path, copied, copied.uuid):
                return copied
    is_named = first_named(REQUEST, head) not in (None, session_id)
    return _copied_answers(path, session_id) if is_named else None


def _copied_answers(path: Path, session_id: str) -> Copied | None:
    """Returns the copied rows of a file in which only answers name their session: those that are
    in the file of that session too.
    """
    for origin in requesters(session_id, islice(_lines(path), MAX_COPIED_ROWS)):
        there = uuids_of(islice(_lines(path.with_name(f"{origin}.jsonl")), MAX_COPIED_ROWS))
        if lines := lines_up_to(there, islice(_lines(path), MAX_COPIED_ROWS)):
            return Copied(origin, lines, b"", lines + 1, b"")
    return None


def _with_last(path: Path, copied: Copied) -> Copied:
    """Returns the copied rows with the last one, which has the id of the new session in the
    versions in which the others keep theirs.
    """
    with suppress(CannotRead):
        if copied.own_uuid and _has(path, copied, copied.own_uuid):
            return copied._replace(lines=copied.own_line)
    return copied


def _has(path: Path, copied: Copied, uuid: bytes) -> bool:
    """Returns whether the file of the origin, beside `path`, has a row."""
    with opened(path.with_name(f"{copied.origin}.jsonl")) as file:
        return any(uuid in line for line in lines_of(file))


def _session(
    path: Path,
    session_id: str,
    lineage: u.Lineage | None,
    clears: list[u.Clear],
    *,
    is_side: bool = False,
    typed: tuple[datetime, ...] = (),
    copied_lines: int = 0,
) -> FoundSession:
    memory = path.parent / path.stem / MEMORY
    attachments: tuple[u.Attachment, ...] = ()
    found = status_of(memory)
    if found is not None and stat.S_ISREG(found.st_mode):
        size = found.st_size
        attachments = (u.Attachment(kind="session_memory", path=shown(memory), bytes=size),)
    own = tuple(
        clear
        for clear in clears
        if clear.from_session == session_id
        or (clear.from_session is None and clear.to_session == session_id)
    )
    told: Any = {"is_side": is_side, "typed_clears": typed}
    return FoundSession(
        id=session_id,
        agent="claude",
        parts=[(path, shown(path.name))],
        reader=partial(ClaudeReader, session_id, **told, copied_lines=copied_lines),
        ending=partial(ClaudeEnding, session_id, **told),
        lineage=lineage,
        attachments=attachments,
        clears=own,
    )


def lineage_of(session_id: str, clears: list[u.Clear]) -> u.Lineage | None:
    """Returns the session that a session was cleared from, or None."""
    for clear in clears:
        if clear.to_session == session_id and clear.from_session is not None:
            return u.Lineage(cleared_from=clear.from_session)
    return None


def _clears(paths: list[Path], typed: list[Typed]) -> list[u.Clear]:
    heads = [head for path in paths if (head := _head(path)) is not None]
    if not heads:
        return []
    neighbours = [_neighbour(path) for path in paths]
    found = [_clear(head, typed, neighbours) for head in heads]
    return [clear for clear in found if clear.confidence >= MIN_CONFIDENCE]


def _clear(head: Head, typed: list[Typed], neighbours: list[Neighbour]) -> u.Clear:
    others = [one for one in neighbours if one.session_id != head.session_id]
    return clear_behind(head, typed, others)


def _head(path: Path) -> Head | None:
    data = bytes_of(path, 0, HEAD_BYTES)
    if not any(mark in data for mark in _MARKS):
        return None
    return head_of(id_of(path), io.BytesIO(bytes_of(path, 0, CLEARED_HEAD_BYTES)))


def _neighbour(path: Path) -> Neighbour:
    data = bytes_of(path, -TAIL_BYTES, TAIL_BYTES)
    process = process_session_in(data)
    return Neighbour(id_of(path), last_time_in(data), queues_clear(data), process)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with opened(path) as file:
            yield from lines_of(file)
    except (CannotRead, OSError):
        return


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
