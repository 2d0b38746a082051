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


def is_folder(path: Path) -> bool:
    """Returns whether there is a folder at `path` itself, and not at the end of a link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _opened(folder: Path) -> int:
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise _refused(folder, "it is not a folder of its own") from error
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise _refused(folder, "it belongs to another user")
    return descriptor


def _check_entries(descriptor: int, folder: Path, links_replaced: Collection[str]) -> None:
    with os.scandir(descriptor) as entries:
        for entry in entries:
            is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
            if not is_plain and entry.name not in links_replaced:
                raise _refused(folder / entry.name, "it is a link or a special file")


def _refused(path: Path, why: str) -> OSError:
    return OSError(errno.EPERM, why, str(path))
