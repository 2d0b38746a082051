"""Creates the first index of the daemon: a copy of the user's index, because of its stat cache,
without entries whose blob may differ from the file.

An entry may stay only if its blob has exactly the bytes of the file whenever the cached stat
matches the file. Therefore these entries are removed, and hashed again if there is a file: files
that git converts, files marked as unchanged, unmerged entries, and entries of `git add -N`.
Submodules and files outside a sparse checkout are not files here.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio

from trimpoint.git.plumbing.process import GitRun, gather
from trimpoint.git.plumbing.shadow_repository import Commit, ShadowRepository
from trimpoint.git.plumbing.store import borrow

_SUBMODULE = b"160000"
# These can convert a file and keep its size; a conversion of line endings changes the size.
_CONVERTING_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
# The size of a blob that is missing, as in a partial clone.
_MISSING = -1
_UNSET = (b"unspecified", b"unset")


class _Entry(NamedTuple):
    path: bytes
    mode: bytes
    blob: bytes


async def write_initial_index(private: ShadowRepository) -> Commit:
    """Creates the index again, and a commit of its content.

    :raises GitFailed: when git cannot read the user's index, or the disk is full
    """
    await anyio.to_thread.run_sync(_copy_index, private)
    if private.index.exists():
        dropped = await _unfit(private)
        stdin = b"".join(path + b"\0" for path in dropped)
        await private.answer(
            "update-index",
            "-z",
            "--force-remove",
            "--stdin",
            doing="prepare its index",
            stdin=stdin,
        )
    return await private.commit("trimpoint seed\n")


def _copy_index(private: ShadowRepository) -> None:
    git_dir = private.repository.git_dir
    private.index.unlink(missing_ok=True)
    # The entries of the user's index refer to the user's objects.
    borrow(private.repository)
    _copy_file(git_dir / "index", private.index)
    # The parts of a split index. Git must not join them with the user's settings: while it writes
    # an index, it has files converted by the programs that these name.
    for shared in git_dir.glob("sharedindex.*"):
        _copy_file(shared, private.dir / shared.name)


def _copy_file(source: Path, target: Path) -> None:
    try:
        # Without blocking, in case it is a pipe.
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if stat.S_ISREG(facts.st_mode):
            target.write_bytes(file.read(facts.st_size))
            # Git compares the time of the file with the times of the entries to find those that
            # may have changed in the moment when the index was written.
            os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


async def _unfit(private: ShadowRepository) -> list[bytes]:
    listed = await private.answer("ls-files", "--stage", "-v", "-z", doing="list the tracked files")
    unfit, kept = _partitioned(listed)
    middle = len(kept) // 2
    runs = [
        _attributes(private, kept),
        _sizes(private, kept[:middle]),
        _sizes(private, kept[middle:]),
    ]
    attributes, *sizes = [output.stdout for output in await gather(runs)]
    # The sizes are compared even if nothing is converted now: the settings may have been different
    # when the file was checked out.
    found = [
        int(line) if line.isdigit() else _MISSING for half in sizes for line in half.splitlines()
    ]
    converted = await anyio.to_thread.run_sync(
        _of_other_size, private.repository.worktree, kept, found
    )
    return [*unfit, *_converted_paths(attributes).union(converted)]


def _partitioned(listed: bytes) -> tuple[set[bytes], list[_Entry]]:
    """Returns the paths of entries that are never kept, and the other entries."""
    unfit: set[bytes] = set()
    kept: list[_Entry] = []
    for line in listed.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        tag, mode, blob, stage = facts.split(b" ")
        if tag != b"H" or stage != b"0" or mode == _SUBMODULE:
            unfit.add(path)
        else:
            kept.append(_Entry(path, mode, blob))
    return unfit, kept


def _attributes(private: ShadowRepository, entries: Sequence[_Entry]) -> GitRun:
    stdin = b"".join(entry.path + b"\0" for entry in entries)
    arguments = ("check-attr", "-z", "--stdin", *_CONVERTING_ATTRIBUTES)
    # The user's git directory is used, because in the daemon's own the attributes are off.
    return private.users(*arguments, doing="read the attributes", stdin=stdin, index=private.index)


def _converted_paths(answer: bytes) -> set[bytes]:
    words = answer.split(b"\0")
    return {
        path for path, value in zip(words[0::3], words[2::3], strict=False) if value not in _UNSET
    }


def _sizes(private: ShadowRepository, entries: Sequence[_Entry]) -> GitRun:
    """Returns a run that reads the sizes of the entries' blobs. The caller splits the entries into
    two runs, because reading loose objects takes most of the time of a first capture.
    """
    stdin = b"".join(entry.blob + b"\n" for entry in entries)
    return private.run(
        "cat-file", "--batch-check=%(objectsize)", "--buffer", doing="read sizes", stdin=stdin
    )


def _of_other_size(worktree: Path, entries: Iterable[_Entry], sizes: Iterable[int]) -> list[bytes]:
    root = os.fsencode(worktree)
    # An entry of `git add -N` has the blob of an empty file.
    return [
        entry.path
        for entry, size in zip(entries, sizes, strict=True)
        if size <= 0 or size != _file_size(root, entry.path)
    ]


def _file_size(root: bytes, path: bytes) -> int | None:
    try:
        return os.lstat(os.path.join(root, path)).st_size
    except OSError:
        return None
