"""Changes to a work tree that can all be rolled back.

Each file that is removed from its path is moved to a given backup place, and a rollback moves it
back. A path that another program has changed since is not rolled back; its path is returned
instead.
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
    """A transaction on the files of a work tree: changes them one by one and records how to undo
    each change.
    """

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._done: list[_Step] = []

    def remove(self, path: bytes, backup: Place, expected: Signature) -> None:
        """Moves the file to `backup`.

        :raises Unexpected: when it was not the expected file; it is in `backup` now
        :raises OSError: when it cannot be moved
        """
        with self._worktree.folder_of(path) as at:
            atomic_rename(at, backup)
        self._remember(path, partial(self._restore, path, backup))
        _check(backup, expected)

    def replace(self, path: bytes, staged: Place, expected: Signature) -> None:
        """Exchanges the file with the staged one.

        :raises Unexpected: when it was not the expected file; it is in the place of the staged one
            now
        :raises OSError: when it cannot be exchanged
        """
        ours = signature_at(staged)
        with self._worktree.folder_of(path) as at:
            atomic_exchange(staged, at)
        self._remember(path, partial(self._exchange_back, path, staged, ours))
        _check(staged, expected)

    def add(self, path: bytes, staged: Place) -> None:
        """Moves the staged file to `path`, which must not exist or have only empty folders.

        :raises OSError: when `path` exists, or the file cannot be moved
        """
        ours = signature_at(staged)
        for folder in self._worktree.make_folders(path):
            self._remember(folder, partial(self._worktree.remove_folder, folder))
        self._remove_empty_folders(path)
        with self._worktree.folder_of(path) as at:
            atomic_rename(staged, at)
        self._remember(path, partial(self._withdraw, path, staged, ours))

    def remove_folder(self, path: bytes) -> None:
        """Removes the folder if it is empty."""
        signature = self._worktree.signature(path)
        if signature is not None and self._worktree.remove_folder(path):
            self._remember(
                path, partial(self._worktree.make_folder, path, stat.S_IMODE(signature.mode))
            )

    def roll_back(self) -> list[bytes]:
        """Undoes all changes in reverse order.

        :returns: the paths that could not be rolled back
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

    def _remove_empty_folders(self, path: bytes) -> None:
        """Removes the folder `path` and the folders in it, if there are no files in them."""
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
    """Returns the signature of the file at a place, or None if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return Signature.of(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
    return None


def _check(place: Place, expected: Signature | None) -> None:
    if signature_at(place) != expected:
        raise Unexpected
