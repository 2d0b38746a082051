"""Finds the sessions of Claude Code below its configuration folder."""

import io
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

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
from trimpoint.sessionlogs.claude.ends import last_time_in, process_session_in, queues_clear
from trimpoint.sessionlogs.claude.forks import Copied, copied_rows, first_process_session
from trimpoint.sessionlogs.claude.reader import ClaudeReader
from trimpoint.sessionlogs.opening import CannotRead, bytes_of, opened
from trimpoint.sessionlogs.sessions import FoundSession
from trimpoint.sessionlogs.text.lines import lines_of

MEMORY = "session-memory/summary.md"
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
    for project in sorted((home / "projects").glob("*")):
        paths = sorted(project.glob("*.jsonl"))
        clears = _clears(paths, typed)
        for path in paths:
            yield _main_session(path, clears, typed)
            for side in sorted((project / path.stem / "subagents").rglob("agent-*.jsonl")):
                yield _session(side, side.stem, u.Lineage(parent=path.stem), [], is_side=True)


def _main_session(path: Path, clears: list[u.Clear], typed: list[Typed]) -> FoundSession:
    here = tuple(one.at for one in typed if one.session_id == path.stem)
    lineage, copied = lineage_of(path.stem, clears), None
    if lineage is None and (copied := _copied(path)) is not None:
        lineage = u.Lineage(forked_from=copied.origin)
    lines = copied.lines if copied is not None else 0
    return _session(path, path.stem, lineage, clears, typed=here, copied_lines=lines)


def _copied(path: Path) -> Copied | None:
    """Returns which rows a file has copied from a file beside it; None if that file does not exist
    or does not have the same row.
    """
    head = bytes_of(path, 0, FORKED_HEAD_BYTES)
    first = first_process_session(head)
    if first in (None, path.stem) or FORKED_FROM in head:
        return None
    with suppress(CannotRead, OSError, ValueError), opened(path) as file:
        copied = copied_rows(path.stem, islice(lines_of(file), MAX_COPIED_ROWS))
        if copied is not None and _has(path.with_name(f"{copied.origin}.jsonl"), copied.uuid):
            return copied
    return None


def _has(path: Path, text: bytes) -> bool:
    with opened(path) as file:
        return any(text in line for line in lines_of(file))


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
    if memory.is_file():
        size = memory.stat().st_size
        attachments = (u.Attachment(kind="session_memory", path=str(memory), bytes=size),)
    own = tuple(
        clear
        for clear in clears
        if clear.from_session == session_id
        or (clear.from_session is None and clear.to_session == session_id)
    )
    return FoundSession(
        id=session_id,
        agent="claude",
        parts=[(path, path.name)],
        reader=partial(
            ClaudeReader,
            session_id,
            is_side=is_side,
            typed_clears=typed,
            copied_lines=copied_lines,
        ),
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
    return head_of(path.stem, io.BytesIO(bytes_of(path, 0, CLEARED_HEAD_BYTES)))


def _neighbour(path: Path) -> Neighbour:
    data = bytes_of(path, -TAIL_BYTES, TAIL_BYTES)
    process = process_session_in(data)
    return Neighbour(path.stem, last_time_in(data), queues_clear(data), process)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with opened(path) as file:
            yield from lines_of(file)
    except (CannotRead, OSError):
        return
