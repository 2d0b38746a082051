"""Distinguishes files that have become ignored, or are no longer ignored, from files that were
deleted or created.

A capture has no ignored files. When what git ignores has changed, files therefore disappear from
captures, or appear in them, that nobody has touched. To recognize them, each capture stores the
paths that it ignored.

    <git dir>/trimpoint/
        ignored           the paths that the newest capture ignored, each followed by a NUL; a path
                          that ends in `/` stands for everything below it
"""

from collections.abc import Collection
from pathlib import Path

import msgspec

from trimpoint.atomic_files import replace_file


class Listed(msgspec.Struct):
    """The paths of a capture, compared with the capture before.

    `ignored` are the paths that it ignores, `added` the files that are new in it, `deleted` those
    that were deleted, and `hidden` those that it lacks because they have become ignored. `removed`
    are files that an interrupted attempt has taken out of the index, for either reason.
    """

    ignored: set[bytes] = msgspec.field(default_factory=set[bytes])
    added: set[bytes] = msgspec.field(default_factory=set[bytes])
    deleted: set[bytes] = msgspec.field(default_factory=set[bytes])
    hidden: set[bytes] = msgspec.field(default_factory=set[bytes])
    removed: set[bytes] = msgspec.field(default_factory=set[bytes])

    def note_staged(self, change: bytes, path: bytes) -> None:
        """Records what an interrupted attempt has changed in the index; `change` is git's letter
        for it.
        """
        if change == b"A":
            self.added.add(path)
        elif change == b"D":
            self.removed.add(path)


def ignoring_changed(
    listed: Listed, captured: Collection[bytes], *, before: set[bytes], earlier: Collection[bytes]
) -> frozenset[bytes]:
    """Returns the paths that this or an earlier capture has, or lacks, only because what git
    ignores has changed.

    :param captured: the paths of all captured files
    :param before: the paths that the capture before ignored
    :param earlier: what this function returned for the capture before
    """
    found = {path for path in listed.added if _covers(before, path)} | listed.hidden
    found |= {path for path in listed.removed if _covers(listed.ignored, path)}
    if not earlier:
        return frozenset(found)
    present = set(captured)
    still = {
        path
        for path in earlier
        if (
            path not in listed.added
            if path in present
            else path not in listed.deleted and _covers(listed.ignored, path)
        )
    }
    return frozenset(found | still)


def read_ignored(file: Path) -> set[bytes]:
    """Returns the paths that the newest capture ignored; none if it stored none."""
    try:
        return set(file.read_bytes().split(b"\0")[:-1])
    except FileNotFoundError:
        return set()


def write_ignored(file: Path, ignored: set[bytes]) -> None:
    """Stores the paths that the newest capture ignored."""
    replace_file(file, b"".join(path + b"\0" for path in sorted(ignored)))


def _covers(paths: set[bytes], path: bytes) -> bool:
    parts = path.split(b"/")
    folders = (b"/".join(parts[:depth]) + b"/" for depth in range(1, len(parts)))
    return path in paths or any(folder in paths for folder in folders)
