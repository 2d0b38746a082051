"""Finds the files of Codex sessions and their order.

Always true: nothing in Codex's folders is written. A session can have several files: after a rewind
it continues in another one, and a fork continues a file of its origin (measured: 0.153 to 0.171).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from trimpoint.sessionlogs.codex.parts import Part
from trimpoint.sessionlogs.codex.rows import BROKEN, Meta
from trimpoint.sessionlogs.opening import (
    COMPRESSED,
    CannotRead,
    bytes_of,
    found_below,
    opened,
    shown,
)
from trimpoint.sessionlogs.text.lenient import convert_or_none, decode_object

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_NAME = re.compile(
    rf"rollout-(?P<time>.+?)-(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?\.(?:jsonl(?:\.zst)?|json)"
)
FOLDERS = ("sessions", "archived_sessions")
# Instructions of some 20 KB stand in the first row.
FIRST_LINE_BYTES = 32 * 1024
MAX_FIRST_LINE_BYTES = 1024 * 1024


class RolloutFile(NamedTuple):
    """A rollout. Other files refer to it by its `id`: that of its segment, or that of the thread
    for the first file.
    """

    path: Path
    thread_id: str
    segment: str
    archived: bool

    @property
    def id(self) -> str:
        """Returns the id by which other files refer to this one."""
        return self.segment or self.thread_id


class Placed(NamedTuple):
    """A file and the part of the session that it contains."""

    path: Path
    part: Part


def rollouts(home: Path) -> dict[str, list[RolloutFile]]:
    """Returns the rollouts below a Codex home by thread, oldest first.

    A file that exists twice counts once: the plain one rather than the compressed one, `sessions`
    rather than the archive.
    """
    found: dict[tuple[str, str], RolloutFile] = {}
    for file in _all(home):
        key = (file.thread_id, file.segment)
        if key not in found or _rank(file) < _rank(found[key]):
            found[key] = file
    threads: dict[str, list[RolloutFile]] = {}
    for file in sorted(found.values(), key=lambda one: (one.thread_id, one.segment)):
        threads.setdefault(file.thread_id, []).append(file)
    return threads


def _all(home: Path) -> Iterator[RolloutFile]:
    for folder in FOLDERS:
        for path in found_below(home / folder, "**/rollout-*.json*"):
            file = file_of(path)
            if file is not None:
                yield file


def file_of(path: Path) -> RolloutFile | None:
    """Parses the name of a rollout; None for a file with another kind of name."""
    name = _NAME.fullmatch(path.name)
    if name is None:
        return None
    return RolloutFile(
        path,
        name["thread"].lower(),
        (name["segment"] or "").lower(),
        "archived_sessions" in path.parts,
    )


def _rank(file: RolloutFile) -> tuple[bool, bool, str]:
    return file.path.suffix == COMPRESSED, file.archived, str(file.path)


class _FirstRow(msgspec.Struct):
    payload: Meta | None = None


_decode_first = msgspec.json.Decoder(_FirstRow).decode


def meta_of(path: Path) -> Meta:
    """Returns the first row of a file; an empty one if it cannot be read."""
    try:
        line = _first_line(path)
    except (CannotRead, OSError):
        return Meta()
    try:
        meta = _decode_first(line).payload
    except BROKEN:
        meta = None
    if meta is not None:
        return meta
    row = decode_object(line) or {}
    payload = row.get("payload", row.get("session", row))
    return convert_or_none(payload, Meta) or Meta()


def _first_line(path: Path) -> bytes:
    if path.suffix != COMPRESSED:
        head, newline, _ = bytes_of(path, 0, FIRST_LINE_BYTES).partition(b"\n")
        if newline:
            return head
    with opened(path) as source:
        return source.readline(MAX_FIRST_LINE_BYTES)


class Chain:
    """The order in which the files of threads continue each other."""

    def __init__(self, threads: dict[str, list[RolloutFile]]) -> None:
        self._threads = threads
        self._by_id = {file.id: file for files in threads.values() for file in files}
        self._metas: dict[Path, Meta] = {}

    def parts(self, thread_id: str) -> list[Placed]:
        """Returns the files of a session in the order of reading: first those of the session that
        it was forked from.
        """
        own = self._threads[thread_id]
        parents = self._parents(own)
        bases = {file.id: self._base(file) for file in (*parents, *own)}
        cuts: dict[str, set[int]] = {}
        for base in filter(None, bases.values()):
            cuts.setdefault(base[0], set()).add(base[1])
        return [
            Placed(
                file.path,
                Part(
                    name=shown(file.path.name),
                    id=file.id,
                    base=bases[file.id],
                    cuts=tuple(sorted(cuts.get(file.id, ()))),
                    stop=max(cuts[file.id]) if file.thread_id != thread_id else None,
                    inherited=file.thread_id != thread_id,
                    is_whole=file.path.suffix == ".json",
                    anew=bool(file.segment) and bases[file.id] is None,
                ),
            )
            for file in (*parents, *own)
        ]

    def _parents(self, own: Iterable[RolloutFile]) -> list[RolloutFile]:
        """Returns the files of other threads that these continue, oldest first. A cycle of
        references is cut.
        """
        seen = {file.id for file in own}
        waiting = list(own)
        parents: list[RolloutFile] = []
        while waiting:
            base = self._base(waiting.pop(0))
            file = self._by_id.get(base[0]) if base is not None else None
            if file is not None and file.id not in seen:
                seen.add(file.id)
                parents.insert(0, file)
                waiting.append(file)
        return parents

    def _base(self, file: RolloutFile) -> tuple[str, int] | None:
        meta = self.meta(file.path)
        if meta.history_base is not None:
            return meta.history_base.thread_id, meta.history_base.end_ordinal_exclusive
        if meta.forked_from_id is not None and meta.forked_from_ordinal_exclusive is not None:
            return meta.forked_from_id, meta.forked_from_ordinal_exclusive
        return None

    def meta(self, path: Path) -> Meta:
        """Returns the first row of a file, which is read once."""
        if path not in self._metas:
            self._metas[path] = meta_of(path)
        return self._metas[path]


class _Name(msgspec.Struct):
    id: str
    thread_name: str | None = None


def thread_names(home: Path) -> dict[str, str]:
    """Returns the names of threads; the last name of each counts."""
    names: dict[str, str] = {}
    try:
        with opened(home / "session_index.jsonl") as source:
            while line := source.readline(1024 * 1024):
                named = convert_or_none(decode_object(line), _Name)
                if named is not None and named.thread_name:
                    names[named.id] = named.thread_name
    except (CannotRead, OSError):
        return {}
    return names
