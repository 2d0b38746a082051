"""Holds the new contents of a restore before any file is changed, and the old contents until the
restore is done.

They are on the same file system as the files, so that each file is replaced by one move: in the
daemon's folder of the git directory, or, if that is on another file system, in a folder beside the
file, which captures skip. The file `elsewhere` lists the folders of the second kind, so that the
next restore finds what a killed restore left behind.
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

    def clear(self, blobs: Blobs, hash_name: str) -> None:
        """Removes the staging folders of a killed restore, after saving their unique contents, and
        creates new ones.

        :raises OSError: when they cannot be removed
        """
        if (self._home / "complete").exists():
            self.rescue(blobs, hash_name)
        self._remove()
        self._home.mkdir(parents=True)

    def rescue(self, blobs: Blobs, hash_name: str) -> None:
        """Moves the staged files whose content is in no checkpoint to the folder `rescued`."""
        for folder in self._left_behind():
            self._rescue(folder, blobs, hash_name)

    def place(self, name: bytes, path: bytes) -> Place:
        """Returns a place for a file that will be moved to or from `path`.

        :raises OSError: when the folder for it cannot be created
        """
        folder = self._nearest_folder(path)
        device = os.stat(folder).st_dev
        if device not in self._folders:
            self._folders[device] = self._open_on(device, folder)
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
    # As in git, everyone who may read the file may execute it.
    return mode | (mode & 0o444) >> 2 if is_executable else mode


def _unused(folder: bytes, name: bytes) -> bytes:
    number = 1
    while os.path.lexists(path := os.path.join(folder, b"%d-%s" % (number, name))):
        number += 1
    return path
