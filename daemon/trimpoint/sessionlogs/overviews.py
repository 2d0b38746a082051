"""Summarizes sessions for lists, and caches the summaries.

Always true: the cache returns what reading would return. An entry is valid only for the same files
(device, inode, size, and a digest of head and tail), and for the same data found outside them, such
as a clear that is recorded in another session's file. A damaged cache or one of another version is
rebuilt.
"""

import os
import stat
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from trimpoint_protocol.shapes.agent_sessions import LineageKind, SessionOverview

from trimpoint.atomic_files import replace_file
from trimpoint.sessionlogs.opening import PLAIN, CannotRead, shown, status_of
from trimpoint.sessionlogs.sessions import FoundSession, Survey, described, survey

VERSION = 8  # rises when the readers find something else in the same files
DIGESTED_BYTES = 4096
# A log above this is only counted for a list when it has been read for something else.
MAX_COUNTED_BYTES = 256 * 1024 * 1024

FileKey = tuple[int, int, int, int]


class Entry(msgspec.Struct, array_like=True):
    """The cached summary of a session."""

    keys: list[FileKey]
    overview: SessionOverview


class _Kept(msgspec.Struct, array_like=True):
    version: int
    entries: dict[str, Entry]


class Overviews:
    """Makes overviews and caches them in the file `path`; None disables the cache."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._entries = _read(path) if path is not None else {}
        self._fresh: dict[str, Entry] = {}
        self._changed = False

    def of(self, session: FoundSession) -> SessionOverview:
        """Returns the overview of a session, from the cache if it is valid."""
        keys = [*(key_of(path) for path, _ in session.parts), _key_of_beside(session)]
        name = f"{session.agent}:{session.id}:{shown(session.parts[-1][0])}"
        entry = self._entries.get(name)
        if entry is None or entry.keys != keys:
            entry = Entry(keys, _overview(session, sum(key[2] for key in keys)))
            self._changed = True
        self._fresh[name] = entry
        return _with_found(entry.overview, session)

    def save(self) -> None:
        """Writes the cache if it has changed. An error while writing is ignored."""
        if self._path is None or not (self._changed or len(self._fresh) != len(self._entries)):
            return
        data = msgspec.msgpack.encode(_Kept(VERSION, self._fresh))
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._path, data)


def _read(path: Path) -> dict[str, Entry]:
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return {}
    return kept.entries if kept.version == VERSION else {}


def key_of(path: Path) -> FileKey:
    """Returns the key of a file: device, inode, size, and a digest of its head and tail."""
    try:
        fd = os.open(path, PLAIN)
    except OSError:
        return (0, 0, 0, 0)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return (0, 0, 0, 0)
        ends = os.pread(fd, DIGESTED_BYTES, 0)
        if found.st_size > DIGESTED_BYTES:
            tail = max(DIGESTED_BYTES, found.st_size - DIGESTED_BYTES)
            ends += os.pread(fd, DIGESTED_BYTES, tail)
        return (found.st_dev, found.st_ino, found.st_size, zlib.crc32(ends))
    finally:
        os.close(fd)


def _key_of_beside(session: FoundSession) -> FileKey:
    beside = repr((session.clears, session.lineage, session.attachments))
    return (0, 0, 0, zlib.crc32(beside.encode("utf-8", "replace")))


def _overview(session: FoundSession, size: int) -> SessionOverview:
    if size > MAX_COUNTED_BYTES:
        return _uncounted(session, size, None)
    try:
        return overview_of(session, survey(session), size)
    except (CannotRead, OSError) as error:
        return _uncounted(session, size, str(error))


def overview_of(session: FoundSession, first: Survey, size: int) -> SessionOverview:
    """Returns the overview of a session that was read."""
    about, records = described(session, first), first.records
    lineage = about.lineage
    kinds: tuple[tuple[LineageKind, str | None], ...] = (
        ("forked", lineage.forked_from),
        ("cleared", lineage.cleared_from),
        ("spawned", lineage.parent),
    )
    kind: LineageKind | None = next((kind for kind, named in kinds if named), None)
    origin = next((named for _, named in kinds if named), None)
    return SessionOverview(
        id=session.id,
        agent=session.agent,
        title=about.title,
        first_prompt=about.first_prompt,
        cwd=about.cwd,
        created_at=about.created_at,
        updated_at=about.updated_at,
        turns=records.turns,
        messages=records.window.count,
        tokens=records.usage.record().total_tokens,
        clears=records.clears,
        compactions=records.boundaries,
        rewinds=records.rewinds,
        lineage=origin,
        lineage_kind=kind,
        model=about.model,
        files=about.files,
        bytes=size,
    )


def _uncounted(session: FoundSession, size: int, problem: str | None) -> SessionOverview:
    """Returns the overview of a session that was not read; its time is that of the newest file."""
    paths = [path for path, _ in session.parts]
    return SessionOverview(
        id=session.id,
        agent=session.agent,
        title=session.title,
        first_prompt=None,
        cwd=None,
        created_at=None,
        updated_at=_changed_at(paths),
        turns=None,
        messages=None,
        tokens=None,
        clears=None,
        compactions=None,
        rewinds=None,
        lineage=None,
        lineage_kind=None,
        model=None,
        files=[shown(path) for path in paths],
        bytes=size,
        problem=problem,
    )


def _changed_at(paths: list[Path]) -> str | None:
    times = [found.st_mtime for found in map(status_of, paths) if found is not None]
    if not times:
        return None
    moment = datetime.fromtimestamp(max(times), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _with_found(overview: SessionOverview, session: FoundSession) -> SessionOverview:
    """Returns the overview with the title that discovery found outside the log, which can change
    while the log does not.
    """
    if session.title is None or session.title == overview.title:
        return overview
    return msgspec.structs.replace(overview, title=session.title)
