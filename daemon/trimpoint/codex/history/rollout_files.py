"""Codex's rollout files of one conversation, read as Codex itself would load them. Everything here
blocks.

What must always be true: a conversation is never one file alone. Its newest file counts; before it
stands what that file refers to, up to where it does (measured: 0.153 to 0.171):

- `thread/revert` begins another file, `rollout-<time>-<thread>_<segment>.jsonl`, that refers to the
  one before;
- a fork's file refers to a file of its origin; forks made by older versions hold a copy instead;
- `thread/archive` moves all files of a thread to `archived_sessions`;
- a file that has not been used for long may be compressed, `.jsonl.zst`. A plain one beside it
  counts.
"""

import importlib
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog

log = structlog.get_logger()

COMPRESSED = ".zst"
# Any part but the time may hold what stands between two parts, so the ids are known by their form.
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-.+-(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?\.jsonl(?:\.zst)?")


class _Base(msgspec.Struct, frozen=True):
    """`thread_id` is that of a file: its segment's, or the thread's for the first one."""

    thread_id: str
    end_ordinal_exclusive: int


class _Meta(msgspec.Struct, frozen=True):
    """The first line of a file, which names the file before. The last two are how 0.133 and its
    successors said it.
    """

    history_base: _Base | None = None
    forked_from_id: str | None = None
    forked_from_ordinal_exclusive: int | None = None


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
        """Returns what other files call it."""
        return self.segment_id or self.thread_id


def conversation_lines(path: str) -> list[bytes]:
    """Returns all lines that count of the conversation that `path` belongs to, oldest first; empty
    when its files are gone.

    `path` may name any file of the thread, and where it was before the thread was archived.
    """
    named = Path(path)
    name, home = _NAME.fullmatch(named.name), _codex_home(named)
    if name is None or home is None:
        return _lines_of(named)
    newest = max(_files(home, name["thread"]), key=lambda file: file.segment_id, default=None)
    return _with_what_it_builds_on(home, newest) if newest is not None else []


def own_lines(path: str) -> list[bytes]:
    """Returns the lines of the one file at `path`, wherever it is by now; empty when it is gone."""
    return _lines_of(*_places(Path(path)))


def _with_what_it_builds_on(home: Path, newest: _File) -> list[bytes]:
    parts: list[list[bytes]] = []
    seen: set[str] = set()
    file: _File | None = newest
    end: int | None = None
    while file is not None and file.id not in seen:
        seen.add(file.id)
        lines = _lines_of(file.path)
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


def _file_called(home: Path, file_id: str) -> _File | None:
    return next((file for file in _files(home, file_id) if file.id == file_id), None)


def _files(home: Path, mentioned_id: str) -> Iterator[_File]:
    """Files whose name has the id; plain ones first, and those of archived threads last."""
    for suffix in ("", COMPRESSED):
        pattern = f"rollout-*{mentioned_id}*.jsonl{suffix}"
        for path in (
            *home.glob(f"sessions/*/*/*/{pattern}"),
            *home.glob(f"archived_sessions/{pattern}"),
        ):
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
    """Returns the lines of the first file that is there. One without its newline is still being
    written and is left out.
    """
    for path in _with_compressed(candidates):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if path.name.endswith(COMPRESSED):
            data = _decompressed(data, path)
        return data[: data.rfind(b"\n") + 1].splitlines()
    return []


def _with_compressed(candidates: Iterable[Path]) -> Iterator[Path]:
    for path in candidates:
        yield path
        if not path.name.endswith(COMPRESSED):
            yield path.with_name(path.name + COMPRESSED)


def _decompressed(data: bytes, path: Path) -> bytes:
    """Empty, with a line in the log, when it cannot be done: what is missing then is said where it
    is missed.
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
