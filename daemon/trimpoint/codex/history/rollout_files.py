"""Reads the rollout files of one conversation, as Codex itself would load them. All functions
block.

Always true: a conversation may consist of several files. The newest file counts, and before it the
files that it refers to, up to the referenced line (measured: 0.153 to 0.171):

- `thread/revert` begins another file, `rollout-<time>-<thread>_<segment>.jsonl`, that refers to the
  one before;
- a fork's file refers to a file of its origin; forks made by older versions hold a copy instead;
- `thread/archive` moves all files of a thread to `archived_sessions`;
- a file that has not been used for long may be compressed, `.jsonl.zst`. A plain one beside it
  counts.
"""

import importlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog

log = structlog.get_logger()

COMPRESSED = ".zst"
PIECE_BYTES = 256 * 1024
# It holds the base instructions.
LONGEST_FIRST_LINE = 4 * 1024 * 1024
# Ids are matched by their form, because their parts contain the separators of the file name.
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-.+-(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?\.jsonl(?:\.zst)?")


class _Base(msgspec.Struct, frozen=True):
    """The file that a file builds on, and how many of its lines count. `thread_id` is its segment
    id, or the thread's id for the first file.
    """

    thread_id: str
    end_ordinal_exclusive: int


class _Meta(msgspec.Struct, frozen=True):
    """The first line of a file, which names its thread and the file that it builds on. The last two
    members are the form of 0.133 and some later versions.
    """

    id: str | None = None
    history_base: _Base | None = None
    forked_from_id: str | None = None
    forked_from_ordinal_exclusive: int | None = None
    thread_source: Any = None


class _FirstLine(msgspec.Struct, frozen=True):
    payload: _Meta


class _Ordinal(msgspec.Struct, frozen=True):
    ordinal: int = 0


_decode_first_line = msgspec.json.Decoder(_FirstLine).decode
_decode_ordinal = msgspec.json.Decoder(_Ordinal).decode


class _File(NamedTuple):
    path: Path
    thread_id: str
    segment_id: str

    @property
    def id(self) -> str:
        """Returns the id by which other files refer to this file."""
        return self.segment_id or self.thread_id


def conversation_lines(path: str) -> list[bytes]:
    """Returns all lines of the conversation that the file at `path` belongs to, oldest first; empty
    if its files are gone.

    `path` may be any file of the thread, and may be its path before the thread was archived.
    """
    named = Path(path)
    name, home = _NAME.fullmatch(named.name), _codex_home(named)
    if name is None or home is None:
        return _lines_of(named)
    newest = max(_files(home, name["thread"]), key=lambda file: file.segment_id, default=None)
    return _with_what_it_builds_on(home, newest) if newest is not None else []


def thread_of_file(path: str) -> str | None:
    """Returns the id of the thread that the file at `path` belongs to, or None if it is no rollout.

    The first line tells, as for Codex (measured: 0.163); of a file that is gone or compressed, the
    name.
    """
    named = _NAME.fullmatch(Path(path).name)
    return _thread_in_first_line(path) or (named["thread"] if named is not None else None)


def threads_of_source(beside: str, source: str, since_ms: int) -> list[str]:
    """Returns the ids of the threads that were begun since then with this `threadSource`, in the
    Codex home that has the file at `beside`. Codex does not list all of them (measured: 0.153 and
    0.163 list no fork without a turn of its own).
    """
    home = _codex_home(Path(beside))
    since = f"{max(since_ms, 0):012x}"
    found = set[str]()
    for path in home.glob("sessions/*/*/*/rollout-*.jsonl") if home is not None else ():
        name = _NAME.fullmatch(path.name)
        # The id of a thread begins with the time at which it was begun.
        if name is not None and name["thread"].replace("-", "")[:12] >= since:
            meta = _first_line(str(path))
            if meta is not None and meta.thread_source == source:
                found.add(name["thread"])
    return sorted(found)


def _thread_in_first_line(path: str) -> str | None:
    meta = _first_line(path)
    return None if meta is None else meta.id


def _first_line(path: str) -> _Meta | None:
    try:
        return _read_first_line(path)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _read_first_line(path: str) -> _Meta:
    """Returns what the first line says. Raises OSError where there is no file that can be read, and
    ValueError or MsgspecError where it is no rollout.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileNotFoundError(path)
    with open(path, "rb") as file:
        return _decode_first_line(file.readline(LONGEST_FIRST_LINE)).payload


def lines_of_thread(path: str) -> list[bytes] | None:
    """Returns the lines of all files of the thread that the file at `path` belongs to, also those
    that were taken back; None if one of them cannot be decompressed.
    """
    name, home = _NAME.fullmatch(Path(path).name), _codex_home(Path(path))
    lines: list[bytes] = []
    for file in _files(home, name["thread"]) if name is not None and home is not None else ():
        found = _lines_of(file.path)
        if not found and file.path.name.endswith(COMPRESSED):
            return None
        lines += found
    return lines


def is_damaged(path: str) -> bool:
    """Returns whether the file is there, can be read, and does not begin as a rollout does."""
    try:
        return _read_first_line(path).id is None
    except OSError:
        return False
    except (ValueError, msgspec.MsgspecError):
        return True


def own_lines(path: str) -> list[bytes]:
    """Returns the lines of the file at `path`, which may have been archived since; empty if it is
    gone.
    """
    return _lines_of(*_places(Path(path)))


def _with_what_it_builds_on(home: Path, newest: _File) -> list[bytes]:
    parts: list[list[bytes]] = []
    seen: set[str] = set()
    file: _File | None = newest
    end: int | None = None
    while file is not None and file.id not in seen:
        seen.add(file.id)
        lines = _lines_of(file.path) or _lines_where_it_is_now(home, file.id)
        parts.append(lines if end is None else [line for line in lines if _ordinal(line) < end])
        base = _base_of(lines)
        if base is None:
            break
        file, end = (
            _file_called(home, base.thread_id),
            min(base.end_ordinal_exclusive, end or base.end_ordinal_exclusive),
        )
        if file is None:
            log.warning("rollout_missing", file_id=base.thread_id, referred_to_by=newest.path.name)
    return [line for lines in reversed(parts) for line in lines]


def _base_of(lines: list[bytes]) -> _Base | None:
    try:
        meta = _decode_first_line(lines[0]).payload
    except (IndexError, msgspec.MsgspecError):
        return None
    if (
        meta.history_base is None
        and meta.forked_from_id
        and meta.forked_from_ordinal_exclusive is not None
    ):
        return _Base(meta.forked_from_id, meta.forked_from_ordinal_exclusive)
    return meta.history_base


def _ordinal(line: bytes) -> int:
    try:
        return _decode_ordinal(line).ordinal
    except msgspec.MsgspecError:
        return 0


def _lines_where_it_is_now(home: Path, file_id: str) -> list[bytes]:
    """Returns the lines of a file that was moved after it had been found."""
    file = _file_called(home, file_id)
    return _lines_of(file.path) if file is not None else []


def _file_called(home: Path, file_id: str) -> _File | None:
    return next((file for file in _files(home, file_id) if file.id == file_id), None)


def _files(home: Path, mentioned_id: str) -> Iterator[_File]:
    """Yields the files whose name contains the id: plain files before compressed ones, and archived
    ones last.

    Codex may archive or unarchive the thread meanwhile, which moves its files. So the archive is
    searched before the other folder and after it.
    """
    for suffix in ("", COMPRESSED):
        pattern = f"rollout-*{mentioned_id}*.jsonl{suffix}"
        archived = [*home.glob(f"archived_sessions/{pattern}")]
        found = [*home.glob(f"sessions/*/*/*/{pattern}"), *archived]
        found += home.glob(f"archived_sessions/{pattern}")
        for path in {path.name: path for path in reversed(found)}.values():
            if (name := _NAME.fullmatch(path.name)) is not None:
                yield _File(path, name["thread"], name["segment"] or "")


def _codex_home(path: Path) -> Path | None:
    for folder in path.parents:
        if folder.name in ("sessions", "archived_sessions"):
            return folder.parent
    return None


def _places(path: Path) -> Iterator[Path]:
    yield path
    if (home := _codex_home(path)) is not None:
        yield home / "archived_sessions" / path.name


def _lines_of(*candidates: Path) -> list[bytes]:
    """Returns the lines of the first file that exists. A last line without a newline is left out,
    because it is still being written.
    """
    for path in _with_compressed(candidates):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if path.name.endswith(COMPRESSED):
            data = _decompressed(data, path)
        return _split(data)
    return []


def _split(data: bytes) -> list[bytes]:
    """Returns the whole lines of a file. A long one is split piece by piece, because to split it
    holds all other threads.
    """
    lines: list[bytes] = []
    start, last = 0, data.rfind(b"\n") + 1
    while start < last:
        end = data.find(b"\n", min(start + PIECE_BYTES, last) - 1) + 1
        lines += data[start:end].splitlines()
        start = end
    return lines


def _with_compressed(candidates: Iterable[Path]) -> Iterator[Path]:
    for path in candidates:
        yield path
        if not path.name.endswith(COMPRESSED):
            yield path.with_name(path.name + COMPRESSED)


def _decompressed(data: bytes, path: Path) -> bytes:
    """Returns the decompressed data, or nothing, with a warning in the log, if it cannot be
    decompressed.
    """
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        log.warning(
            "rollout_compressed",
            path=str(path),
            hint="Install trimpoint[zstd], so that it can be read.",
        )
        return b""
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        )
        return bytes(reader.read())
    except zstandard.ZstdError as error:
        log.warning("rollout_damaged", path=str(path), detail=str(error))
        return b""
