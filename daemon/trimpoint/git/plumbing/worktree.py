"""Accesses the files of a work tree without ever following a link.

A path is walked folder by folder from the root with descriptors, so that nothing outside the work
tree is read or written, even if a part of the path becomes a link meanwhile.
"""

import contextlib
import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from trimpoint.git.plumbing.atomic_rename import Place
from trimpoint.git.plumbing.compare import Side, leads_out
from trimpoint.git.plumbing.permissions import LINK, file_mode, permissions_in

_CHUNK_BYTES = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without blocking, in case the file has become a pipe.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Signature(NamedTuple):
    """Identifies the version of a file: it changes when the file is written, but not when it is
    moved.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    mode: int

    @classmethod
    def of(cls, facts: os.stat_result) -> Self:
        """Returns the signature in a result of `lstat`."""
        return cls(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode)


class Found(msgspec.Struct, frozen=True):
    """The state of a path. `side` is the file as a checkpoint would have it, or None if there is no
    file or a folder.
    """

    side: Side | None = None
    signature: Signature | None = None
    is_folder: bool = False


class Worktree:
    """A work tree that is opened once for many paths. All paths are relative to its root, as
    bytes.
    """

    def __init__(self, root: Path, hash_name: str) -> None:
        self._hash_name = hash_name
        self._root = os.open(root, _FOLDER & ~os.O_NOFOLLOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def inspect(self, path: bytes) -> Found:
        """Returns the state of `path` now; a file is read and hashed.

        :raises OSError: when it cannot be read
        """
        try:
            with self.folder_of(path) as place:
                return self.inspect_at(place)
        except (FileNotFoundError, NotADirectoryError):
            return Found()

    def signature(self, path: bytes) -> Signature | None:
        """Returns the signature of `path` without reading the file, or None if it does not
        exist.
        """
        try:
            with self.folder_of(path) as (folder, name):
                return Signature.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def path_on_disk(self, path: bytes) -> bytes:
        """Returns `path` as the folders have it, which is another one where the file system finds a
        name in any case or Unicode form. A path that does not exist is returned unchanged.
        """
        found: list[bytes] = []
        try:
            for part in path.split(b"/"):
                with self.opened(b"/".join(found)) as at:
                    found.append(_name_on_disk(at, part))
        except (FileNotFoundError, NotADirectoryError):
            return path
        return b"/".join(found)

    @contextlib.contextmanager
    def folder_of(self, path: bytes) -> Generator[Place]:
        """Yields the descriptor of the folder that `path` is in, and the last part of `path`.

        :raises NotADirectoryError: when a part of the path is a link or a file
        :raises FileNotFoundError: when a folder is missing
        :raises PermissionError: when the path leads out of the work tree, or to git's own files
        """
        above, _, name = path.rpartition(b"/")
        if leads_out(path):
            raise PermissionError(errno.EPERM, "it leads out of the work tree", os.fsdecode(path))
        with self.opened(above) as at:
            yield Place(at, name)

    @contextlib.contextmanager
    def opened(self, path: bytes) -> Generator[int]:
        """Yields the descriptor of a folder; an empty path is the root. Raises what `folder_of`
        raises.
        """
        at = os.dup(self._root)
        try:
            for folder in path.split(b"/") if path else ():
                below = _open_folder(folder, at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    def make_folders(self, path: bytes) -> list[bytes]:
        """Creates the missing folders above `path`.

        :returns: the created folders, outermost first
        :raises OSError: when a folder cannot be created, or a file is in its place
        """
        made: list[bytes] = []
        folders = path.split(b"/")[:-1]
        for depth in range(1, len(folders) + 1):
            folder = b"/".join(folders[:depth])
            with self.folder_of(folder) as (at, name), contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
                made.append(folder)
        return made

    def make_folder(self, path: bytes, mode: int) -> None:
        """Creates a removed folder again with its former permissions.

        :raises OSError: when it cannot be created
        """
        with self.folder_of(path) as (at, name):
            os.mkdir(name, dir_fd=at)
            os.chmod(name, mode, dir_fd=at)

    def folders_below(self, path: bytes) -> list[bytes]:
        """Returns the folder `path` and all folders in it, innermost first; empty if it is no
        folder.
        """
        signature = self.signature(path)
        if signature is None or not stat.S_ISDIR(signature.mode):
            return []
        with self.folder_of(path) as (at, name):
            below = _open_folder(name, at)
        try:
            inner = [
                entry.name for entry in os.scandir(below) if entry.is_dir(follow_symlinks=False)
            ]
        finally:
            os.close(below)
        return [
            *(
                folder
                for name in inner
                for folder in self.folders_below(path + b"/" + os.fsencode(name))
            ),
            path,
        ]

    def remove_folder(self, path: bytes) -> bool:
        """Removes a folder if it is empty. Returns whether it was removed."""
        try:
            with self.folder_of(path) as (at, name):
                os.rmdir(name, dir_fd=at)
        except OSError:
            return False
        return True

    def inspect_at(self, place: Place) -> Found:
        """Returns the state of a place now, as `inspect` does.

        :raises OSError: when there is nothing, or it cannot be read
        """
        folder, name = place
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        signature = Signature.of(facts)
        if stat.S_ISDIR(facts.st_mode):
            return Found(signature=signature, is_folder=True)
        if stat.S_ISLNK(facts.st_mode):
            target = os.readlink(name, dir_fd=folder)
            return Found(Side(LINK, self._hashed([target], len(target))), signature)
        if not stat.S_ISREG(facts.st_mode):
            return Found(Side(stat.S_IFMT(facts.st_mode), ""), signature)
        return self._inspect_entry(folder, name)

    def _inspect_entry(self, folder: int, name: bytes) -> Found:
        descriptor = os.open(name, _FILE, dir_fd=folder)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            facts = os.fstat(descriptor)
            blob = self._hashed(iter(lambda: file.read(_CHUNK_BYTES), b""), facts.st_size)
        side = Side(file_mode(facts.st_mode), blob, permissions_in(facts.st_mode))
        return Found(side, Signature.of(facts))

    def _hashed(self, chunks: Iterable[bytes], size: int) -> str:
        """Returns git's blob id of the chunks, or "" if their length is not `size`."""
        digest = hashlib.new(self._hash_name, b"blob %d\0" % size)
        read = 0
        for chunk in chunks:
            digest.update(chunk)
            read += len(chunk)
        return digest.hexdigest() if read == size else ""


def folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """Returns all folders above these paths, without the root."""
    split = (path.split(b"/") for path in paths)
    return {b"/".join(parts[:depth]) for parts in split for depth in range(1, len(parts))}


def like_names(paths: Iterable[bytes]) -> set[bytes]:
    """Returns those of the paths that some file system may take for another one of them."""
    groups: dict[bytes, set[bytes]] = {}
    for path in paths:
        groups.setdefault(plain_name(path), set()).add(path)
    return {path for group in groups.values() if len(group) > 1 for path in group}


def plain_name(path: bytes) -> bytes:
    """Returns what all forms of a path have in common."""
    if path.isascii():
        return path.lower()
    plain = unicodedata.normalize("NFD", os.fsdecode(path)).casefold()
    return os.fsencode(unicodedata.normalize("NFD", plain))


def _name_on_disk(folder: int, name: bytes) -> bytes:
    names = [os.fsencode(each) for each in os.listdir(folder)]
    if name in names:
        return name
    wanted = _facts(folder, name)
    same = (each for each in names if os.path.samestat(wanted, _facts(folder, each)))
    return next(same, name)


def _facts(folder: int, name: bytes) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _open_folder(name: bytes, at: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(
                errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fsdecode(name)
            ) from error
        raise
