"""Makes and checks the folders that trimpoint has inside of a git directory.

The git directory may come from anybody: out of an archive, or from an agent that made the
repository. So these folders are believed to be ours only if nothing in them leads elsewhere, and
only this user can look into them.
"""

import errno
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from trimpoint.git.plumbing.atomic_rename import Place, exists_at

_PRIVATE = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def claim_folders(
    root: Path, below: Iterable[str] = (), *, links_replaced: Collection[str] = ()
) -> None:
    """Makes the folder `root` and the folders `below` it, if needed, and makes sure that only this
    user can use them. Parents of `root` are not made: if the git directory was removed, it must not
    appear again.

    :param links_replaced: the names of files that may be links, because the caller replaces them
    :raises OSError: when one of them cannot be made, is a link or another user's, or has a link or
        a special file in it
    """
    for folder in (root, *(root / name for name in below)):
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
        descriptor = _opened(folder)
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != _PRIVATE:
                os.fchmod(descriptor, _PRIVATE)
            _check_entries(descriptor, folder, links_replaced)
        finally:
            os.close(descriptor)


def read_small(path: Path, max_bytes: int, *, follows: bool = False) -> bytes:
    """Returns the content of a file that others may have made, or nothing if there is none. Never
    waits for a pipe.

    :param follows: whether the file may be a link
    :raises OSError: when it cannot be read, is no regular file, or has more than `max_bytes`
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return b""
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise refused(path, why) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refused(path, "it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    finally:
        os.close(descriptor)
    if len(content) > max_bytes:
        raise refused(path, f"it has more than {max_bytes} bytes")
    return content


def is_folder(path: Path) -> bool:
    """Returns whether there is a folder at `path` itself, and not at the end of a link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def refused(path: Path, why: str) -> OSError:
    """Returns an error about a path that is not what it should be."""
    return OSError(errno.EPERM, why, str(path))


def _opened(folder: Path) -> int:
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise refused(folder, "it is not a folder of its own") from error
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise refused(folder, "it belongs to another user")
    return descriptor


def _check_entries(descriptor: int, folder: Path, links_replaced: Collection[str]) -> None:
    # A file of git's own may vanish meanwhile, and then have no kind.
    with os.scandir(descriptor) as entries:
        for entry in entries:
            is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
            is_replaced = entry.is_symlink() and entry.name in links_replaced
            if not (is_plain or is_replaced or not _exists(entry.name, descriptor)):
                raise refused(folder / entry.name, "it is a link or a special file")


def _exists(name: str, folder: int) -> bool:
    return exists_at(Place(folder, os.fsencode(name)))
