"""Finds names of the index that the disk no longer has, where it finds a file by another form of
its name: after a rename of the case alone, git takes the file for both.
"""

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

from trimpoint.git.plumbing.worktree import Worktree, plain_name


def renamed_away(root: Path, fresh: Collection[bytes], listed: Iterable[bytes]) -> set[bytes]:
    """Returns the paths of `listed` that are one of `fresh` in another case or Unicode form, and
    that no folder has. Blocking.
    """
    wanted = {plain_name(path) for path in fresh}
    like = {path for path in listed if plain_name(path) in wanted}.difference(fresh)
    gone: set[bytes] = set()
    if like:
        with Worktree(root, "sha1") as worktree:
            for path in like:
                with contextlib.suppress(OSError):
                    if worktree.path_on_disk(path) != path:
                        gone.add(path)
    return gone
