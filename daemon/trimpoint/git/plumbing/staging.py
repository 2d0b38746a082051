"""Holds the new contents of a restore before any file is changed, and the old contents until the
restore is done.

They are on the same file system as the files, so that each file is replaced by one move: in the
daemon's folder of the git directory, or, if that is on another file system, in a folder beside the
file, which captures skip. The file `elsewhere` lists the folders of the second kind, so that the
next restore finds what a killed restore left behind.

Whoever made the git directory may have written that list. So only folders of the worktree that are
called like ours are believed, found without following a link, and only files that are called like
ours are removed from them.
"""

import contextlib
import errno
import os
import re
import shutil
import stat
from pathlib import Path

from trimpoint.git.plumbing.atomic_rename import Place, exists_at
from trimpoint.git.plumbing.blobs import Blobs
from trimpoint.git.plumbing.compare import Side, leads_out
from trimpoint.git.plumbing.own_folders import is_folder, read_small
from trimpoint.git.plumbing.permissions import EXECUTABLE, LINK
from trimpoint.git.plumbing.worktree import Worktree

STAGING_FOLDER = b".trimpoint-restore"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# The names of staged files: those of `place`, and what `atomic_exchange` makes of them.
_STAGED = re.compile(rb"\d+(\.aside)?")
_LIST_BYTES = 1024 * 1024
_PERMISSIONS = 0o7777
# The set-user-id, set-group-id and sticky bits: checkpoints do not keep them, and a restore does
# not remove them.
_SPECIAL = 0o7000


class Staging:
    """The staging folders of one restore. `close` removes them."""

    def __init__(self, private: Path, root: Path, worktree: Worktree) -> None:
        self._home = private / "restore"
        self._rescued = private / "rescued"
        self._root = os.fsencode(root)
        self._worktree = worktree
        self._folders: dict[int, int] = {}

    def clear(self, blobs: Blobs) -> None:
        """Removes the staging folders of a killed restore, after saving their unique contents, and
        creates new ones.

        :raises OSError: when they cannot be removed
        """
        if (self._home / "complete").exists():
            self.rescue(blobs)
        self._remove()
        self._home.mkdir()

    def rescue(self, blobs: Blobs) -> None:
        """Moves the staged files whose content is in no checkpoint to the folder `rescued`."""
        if is_folder(self._home):
            home = os.open(self._home, _FOLDER)
            try:
                self._rescue(home, blobs)
            finally:
                os.close(home)
        for path in self._left_behind():
            with _if_there(), self._worktree.opened(path) as folder:
                self._rescue(folder, blobs)

    def place(self, name: bytes, path: bytes) -> Place:
        """Returns a place for a file that will be moved to or from `path`.

        :raises OSError: when the folder for it cannot be created
        """
        nearest = self._nearest_folder(path)
        with self._worktree.opened(nearest) as folder:
            device = os.fstat(folder).st_dev
            if device not in self._folders:
                self._folders[device] = self._open_on(device, folder, nearest)
        return Place(self._folders[device], name)

    def write(self, place: Place, side: Side, blobs: Blobs, like: int | None) -> None:
        """Writes the new file with its permissions. If these are unknown, they are taken from
        `like`, the mode of the replaced file, except for the executable bits.

        :raises OSError: when the file cannot be written, as on a full disk
        :raises GitFailed: when the repository does not have the content
        """
        if side.mode == LINK:
            os.symlink(b"".join(blobs.read(side.blob)), place.name, dir_fd=place.folder)
            return
        is_executable = side.mode == EXECUTABLE
        # The content may be private, so others cannot read the file before it has its permissions.
        mode = 0o600 if side.permissions is not None else 0o777 if is_executable else 0o666
        descriptor = os.open(place.name, _NEW, mode, dir_fd=place.folder)
        with os.fdopen(descriptor, "wb") as file:
            for chunk in blobs.read(side.blob):
                file.write(chunk)
            if side.permissions is not None:
                os.fchmod(descriptor, side.permissions | (like or 0) & _SPECIAL)
            elif like is not None:
                os.fchmod(descriptor, _permissions(like, is_executable))

    def complete(self) -> None:
        """Records that from now on the staging folders may hold files of the work tree."""
        (self._home / "complete").touch()

    def close(self) -> None:
        """Removes the staging folders."""
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()
        with contextlib.suppress(OSError):
            self._remove()

    def is_home(self, device: int) -> bool:
        """Returns whether the daemon's folder of the git directory is on the file system
        `device`.
        """
        return self._home.stat().st_dev == device

    def _open_on(self, device: int, folder: int, nearest: bytes) -> int:
        if self.is_home(device):
            return os.open(self._home, _FOLDER)
        path = os.path.join(nearest, STAGING_FOLDER)
        if exists_at(Place(folder, STAGING_FOLDER)):
            raise OSError(errno.ENOTEMPTY, f"{os.fsdecode(path)} has files of somebody else in it")
        with (self._home / "elsewhere").open("ab") as file:
            file.write(path + b"\0")
        os.mkdir(STAGING_FOLDER, 0o700, dir_fd=folder)
        return os.open(STAGING_FOLDER, _FOLDER, dir_fd=folder)

    def _nearest_folder(self, path: bytes) -> bytes:
        parts = path.split(b"/")[:-1]
        while parts:
            signature = self._worktree.signature(b"/".join(parts))
            if signature is not None and stat.S_ISDIR(signature.mode):
                break
            parts.pop()
        return b"/".join(parts)

    def _left_behind(self) -> list[bytes]:
        """Returns the folders that the list has, relative to the worktree."""
        listed = read_small(self._home / "elsewhere", _LIST_BYTES).split(b"\0")[:-1]
        # Older versions wrote absolute paths.
        paths = (path.removeprefix(self._root + b"/") for path in listed)
        return [path for path in paths if _is_ours(path)]

    def _rescue(self, folder: int, blobs: Blobs) -> None:
        for name in _staged(folder):
            place = Place(folder, name)
            side = self._worktree.inspect_at(place).side
            if side is not None and not blobs.holds(side.blob):
                self._rescued.mkdir(exist_ok=True)
                _move(place, _unused(self._rescued, name))

    def _remove(self) -> None:
        for path in reversed(self._left_behind()):
            with _if_there(), self._worktree.opened(path) as folder:
                for name in _staged(folder):
                    os.unlink(name, dir_fd=folder)
            self._worktree.remove_folder(path)
        if is_folder(self._home):
            shutil.rmtree(self._home)


def _is_ours(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == STAGING_FOLDER and not leads_out(path)


def _if_there() -> contextlib.suppress:
    return contextlib.suppress(FileNotFoundError, NotADirectoryError)


def _staged(folder: int) -> list[bytes]:
    """Returns the names of files in a staging folder that a restore gave."""
    return [name for name in map(os.fsencode, os.listdir(folder)) if _STAGED.fullmatch(name)]


def _move(source: Place, target: Path) -> None:
    try:
        os.rename(source.name, target, src_dir_fd=source.folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)
        os.unlink(source.name, dir_fd=source.folder)


def _copy(source: Place, target: Path) -> None:
    facts = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    if stat.S_ISLNK(facts.st_mode):
        os.symlink(os.readlink(source.name, dir_fd=source.folder), os.fsencode(target))
    elif stat.S_ISREG(facts.st_mode):
        old = os.open(source.name, _OLD, dir_fd=source.folder)
        with os.fdopen(old, "rb") as file, os.fdopen(os.open(target, _NEW, 0o600), "wb") as copy:
            shutil.copyfileobj(file, copy)
            os.fchmod(copy.fileno(), stat.S_IMODE(facts.st_mode))


def _permissions(like: int, is_executable: bool) -> int:
    mode = like & _PERMISSIONS & ~0o111
    # As in git, everyone who may read the file may execute it.
    return mode | (mode & 0o444) >> 2 if is_executable else mode


def _unused(folder: Path, name: bytes) -> Path:
    number = 1
    while os.path.lexists(path := folder / f"{number}-{os.fsdecode(name)}"):
        number += 1
    return path
