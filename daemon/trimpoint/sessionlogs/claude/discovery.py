"""The sessions of Claude Code below its configuration folder."""

import io
import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
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
from trimpoint.sessionlogs.claude.ends import last_time_in, queues_clear
from trimpoint.sessionlogs.claude.reader import ClaudeReader
from trimpoint.sessionlogs.sessions import FoundSession

MEMORY = "session-memory/summary.md"
HEAD_BYTES = 16 * 1024
TAIL_BYTES = 64 * 1024
MIN_CONFIDENCE = 0.5
_MARKS = tuple(f"{command}</command-name>".encode() for command in COMMANDS)


def claude_sessions(home: Path) -> Iterator[FoundSession]:
    """Yields the session of each file, and those of sub-agents."""
    typed = typed_clears(_lines(home / "history.jsonl"))
    for project in sorted((home / "projects").glob("*")):
        paths = sorted(project.glob("*.jsonl"))
        clears = _clears(paths, typed)
        for path in paths:
            here = tuple(one.at for one in typed if one.session_id == path.stem)
            yield _session(path, path.stem, lineage_of(path.stem, clears), clears, typed=here)
            for side in sorted((project / path.stem / "subagents").rglob("agent-*.jsonl")):
                yield _session(side, side.stem, u.Lineage(parent=path.stem), [], is_side=True)


def _session(
    path: Path,
    session_id: str,
    lineage: u.Lineage | None,
    clears: list[u.Clear],
    *,
    is_side: bool = False,
    typed: tuple[datetime, ...] = (),
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
        reader=partial(ClaudeReader, session_id, is_side=is_side, typed_clears=typed),
        lineage=lineage,
        attachments=attachments,
        clears=own,
    )


def lineage_of(session_id: str, clears: list[u.Clear]) -> u.Lineage | None:
    """Returns which session a session was cleared from, if any."""
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
    data = _bytes(path, 0, HEAD_BYTES)
    if not any(mark in data for mark in _MARKS):
        return None
    return head_of(path.stem, io.BytesIO(data))


def _neighbour(path: Path) -> Neighbour:
    data = _bytes(path, -TAIL_BYTES, TAIL_BYTES)
    return Neighbour(path.stem, last_time_in(data), queues_clear(data))


def _bytes(path: Path, start: int, count: int) -> bytes:
    """Returns a part of a file; a negative start counts from its end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        at = max(0, os.fstat(fd).st_size + start) if start < 0 else start
        return os.pread(fd, count, at)
    finally:
        os.close(fd)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError:
        return
