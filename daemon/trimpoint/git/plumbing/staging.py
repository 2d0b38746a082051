"""The new contents of a restore, complete on disk before anything is touched; and the old ones,
until it is done.

They are on the file system that the files are on, so that putting one in its place is one move: in
our own folder of the git directory, or where that is on another file system, in a folder beside the
file, which captures pass over. One file, `elsewhere`, lists such folders, so that the next restore
finds what a killed one left behind.
"""

import contextlib
import os
import shutil
import stat
from pathlib import Path

from trimpoint.git.plumbing.atomic_rename import Place
from trimpoint.git.plumbing.blobs import Blobs
from trimpoint.git.plumbing.compare import Side
from trimpoint.git.plumbing.permissions import EXECUTABLE, LINK
from trimpoint.git.plumbing.worktree import Worktree

STAGING_FOLDER = b".trimpoint-restore"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o7777
# Set-user-id and the like: no checkpoint gives them, and no restore takes them away.
_SPECIAL = 0o7000


class Staging:
    """For one restore. `close` leaves nothing behind."""

    def __init__(self, private: Path, root: Path, worktree: Worktree) -> None:
        self._home = private / "restore"
        self._rescued = private / "rescued"
        self._root = os.fsencode(root)
        self._worktree = worktree
        self._folders: dict[int, int] = {}

    def clear(self, blobs: Blobs, hash_name: str) -> None:
        """Removes what a killed restore left, and begins.

        :raises OSError: it cannot be removed
        """
        if (self._home / "complete").exists():
            self.rescue(blobs, hash_name)
        self._remove()
        self._home.mkdir(parents=True)

    def rescue(self, blobs: Blobs, hash_name: str) -> None:
        """Keep, in a folder `rescued`, what is in here and in no checkpoint."""
        for folder in self._left_behind():
            self._rescue(folder, blobs, hash_name)

    def place(self, name: bytes, path: bytes) -> Place:
        """Returns a place for something that is to be moved to or from `path`.

        :raises OSError: there is no folder to be made for it
        """
        folder = self._nearest_folder(path)
        device = os.stat(folder).st_dev
        if device not in self._folders:
            self._folders[device] = self._open_on(device, folder)
        return Place(self._folders[device], name)

    def write(self, place: Place, side: Side, blobs: Blobs, like: int | None) -> None:
        """Writes the file as it is to be, with its permissions. Where those are not known, `like`
        counts: the mode of the file that it replaces, of which all but the executable bits are
        kept.

        :raises OSError: it cannot be written, as on a full disk
        :raises GitFailed: the repository does not have the content
        """
        if side.mode == LINK:
            os.symlink(b"".join(blobs.read(side.blob)), place.name, dir_fd=place.folder)
            return
        is_executable = side.mode == EXECUTABLE
        # Its content may be private, so it is unreadable until it has its permissions.
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
        """Marks the folders as holding parts of the work tree from now on."""
        (self._home / "complete").touch()

    def close(self) -> None:
        """Remove all of it."""
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()
        with contextlib.suppress(OSError):
            self._remove()

    def is_home(self, device: int) -> bool:
        """Returns whether our folder of the git directory is on that file system."""
        return self._home.stat().st_dev == device

    def _open_on(self, device: int, nearest: bytes) -> int:
        if self.is_home(device):
            return os.open(self._home, _FOLDER)
        folder = os.path.join(nearest, STAGING_FOLDER)
        with (self._home / "elsewhere").open("ab") as file:
            file.write(folder + b"\0")
        os.mkdir(folder)
        return os.open(folder, _FOLDER)

    def _nearest_folder(self, path: bytes) -> bytes:
        parts = path.split(b"/")[:-1]
        while parts:
            signature = self._worktree.signature(b"/".join(parts))
            if signature is not None and stat.S_ISDIR(signature.mode):
                break
            parts.pop()
        return os.path.join(self._root, *parts)

    def _left_behind(self) -> list[bytes]:
        elsewhere = self._home / "elsewhere"
        listed = elsewhere.read_bytes().split(b"\0")[:-1] if elsewhere.exists() else []
        return [os.fsencode(self._home), *listed]

    def _rescue(self, folder: bytes, blobs: Blobs, hash_name: str) -> None:
        with (
            contextlib.suppress(FileNotFoundError),
            Worktree(Path(os.fsdecode(folder)), hash_name) as files,
        ):
            for name in os.listdir(folder):
                side = files.inspect(name).side
                if (
                    name not in (b"complete", b"elsewhere")
                    and side is not None
                    and not blobs.holds(side.blob)
                ):
                    self._rescued.mkdir(exist_ok=True)
                    shutil.move(
                        os.fsdecode(os.path.join(folder, name)),
                        os.fsdecode(_unused(os.fsencode(self._rescued), name)),
                    )

    def _remove(self) -> None:
        for folder in reversed(self._left_behind()):
            shutil.rmtree(folder, ignore_errors=not os.path.lexists(folder))


def _permissions(like: int, is_executable: bool) -> int:
    mode = like & _PERMISSIONS & ~0o111
    # As git does: executable for all who may read it.
    return mode | (mode & 0o444) >> 2 if is_executable else mode


def _unused(folder: bytes, name: bytes) -> bytes:
    number = 1
    while os.path.lexists(path := os.path.join(folder, b"%d-%s" % (number, name))):
        number += 1
    return path
