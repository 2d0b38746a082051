"""Changes to a work tree, each of which can be taken back.

Always true: whatever leaves a path goes to the place aside that was given for it, and comes back
from there. A path that another program has changed since is not taken back; it is named.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from trimpoint.git.plumbing.atomic_rename import Place, atomic_exchange, atomic_rename
from trimpoint.git.plumbing.worktree import Signature, Worktree


class Unexpected(Exception):
    """A path has unexpected content."""


class _Step(NamedTuple):
    path: bytes
    undo: Callable[[], object]


class FileTransaction:
    """Does things one by one, and remembers them."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._done: list[_Step] = []

    def remove(self, path: bytes, backup: Place, expected: Signature) -> None:
        """Put the file aside.

        :raises Unexpected: it was another one; it is aside now
        :raises OSError: it cannot be moved
        """
        with self._worktree.folder_of(path) as at:
            atomic_rename(at, backup)
        self._remember(path, partial(self._restore, path, backup))
        _check(backup, expected)

    def replace(self, path: bytes, staged: Place, expected: Signature) -> None:
        """Exchange the file with the staged one.

        :raises Unexpected: it was another one; it is aside now
        :raises OSError: it cannot be exchanged
        """
        ours = signature_at(staged)
        with self._worktree.folder_of(path) as at:
            atomic_exchange(staged, at)
        self._remember(path, partial(self._exchange_back, path, staged, ours))
        _check(staged, expected)

    def add(self, path: bytes, staged: Place) -> None:
        """Move the staged file to where nothing is, or nothing but empty folders.

        :raises OSError: something is there, or it cannot be moved
        """
        ours = signature_at(staged)
        for folder in self._worktree.make_folders(path):
            self._remember(folder, partial(self._worktree.remove_folder, folder))
        self._clear_the_way(path)
        with self._worktree.folder_of(path) as at:
            atomic_rename(staged, at)
        self._remember(path, partial(self._withdraw, path, staged, ours))

    def remove_folder(self, path: bytes) -> None:
        """Remove it if it is an empty folder."""
        signature = self._worktree.signature(path)
        if signature is not None and self._worktree.remove_folder(path):
            self._remember(
                path, partial(self._worktree.make_folder, path, stat.S_IMODE(signature.mode))
            )

    def roll_back(self) -> list[bytes]:
        """Undo everything, the last first.

        :returns: paths for which it could not be done
        """
        failed: list[bytes] = []
        while self._done:
            step = self._done.pop()
            try:
                step.undo()
            except (OSError, Unexpected):
                failed.append(step.path)
        return failed

    def _remember(self, path: bytes, undo: Callable[[], object]) -> None:
        self._done.append(_Step(path, undo))

    def _clear_the_way(self, path: bytes) -> None:
        """Folders that hold nothing but folders give way to a file."""
        for folder in self._worktree.folders_below(path):
            self.remove_folder(folder)

    def _restore(self, path: bytes, backup: Place) -> None:
        self._worktree.make_folders(path)
        with self._worktree.folder_of(path) as at:
            atomic_rename(backup, at)

    def _exchange_back(self, path: bytes, backup: Place, ours: Signature | None) -> None:
        with self._worktree.folder_of(path) as at:
            _check(at, ours)
            atomic_exchange(backup, at)

    def _withdraw(self, path: bytes, staged: Place, ours: Signature | None) -> None:
        with self._worktree.folder_of(path) as at:
            _check(at, ours)
            atomic_rename(at, staged)


def signature_at(place: Place) -> Signature | None:
    """Returns the signature of the path; None for nothing."""
    with contextlib.suppress(FileNotFoundError):
        return Signature.of(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
    return None


def _check(place: Place, expected: Signature | None) -> None:
    if signature_at(place) != expected:
        raise Unexpected
