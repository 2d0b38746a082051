"""A file system for tests that finds a name in any case or Unicode form and keeps it as it was
written, as those of macOS do: `python -m tests.git.any_case_disk BACKING MOUNTPOINT`, by FUSE.

It serves until it is unmounted. What is in it lies in the folder BACKING.
"""

import errno
import os
import sys
import unicodedata
from typing import Any

import mfusepy  # type: ignore[import-untyped]


class AnyCase(mfusepy.Operations):  # type: ignore[misc]
    """The files of a folder, found by names in any form."""

    use_ns = True

    def __init__(self, root: str) -> None:
        self._root = root

    def _real(self, path: str) -> str:
        """Returns the path on the disk of what is asked for; as it is asked for where nothing is."""
        at = self._root
        for name in path.strip("/").split("/"):
            names = os.listdir(at) if name and os.path.isdir(at) else []
            like = (each for each in names if _plain(each) == _plain(name))
            at = os.path.join(at, next(like, name))
        return at

    def _named(self, path: str) -> str:
        """Returns where a new name is to lie: under the folder that is found, as it was given."""
        above, name = os.path.split(path)
        return os.path.join(self._real(above), name)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        return self._facts(self._real(path))

    def _facts(self, real: str) -> dict[str, Any]:
        found = os.lstat(real)
        members = ("mode", "nlink", "uid", "gid", "size", "ino")
        times = {f"st_{one}": getattr(found, f"st_{one}_ns") for one in ("atime", "mtime", "ctime")}
        return {f"st_{one}": getattr(found, f"st_{one}") for one in members} | times

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, Any], int]]:
        real = self._real(path)
        names = [".", "..", *os.listdir(real)]
        return [(name, self._facts(os.path.join(real, name)), 0) for name in names]

    def open(self, path: str, flags: int) -> int:
        return os.open(self._real(path), flags & ~os.O_CREAT)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        real = self._real(path)
        return os.open(real, os.O_RDWR | os.O_CREAT, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self._real(path), length)
        return 0

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def flush(self, path: str, fh: int) -> int:
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self._real(path), mode)
        return 0

    def rmdir(self, path: str) -> int:
        os.rmdir(self._real(path))
        return 0

    def unlink(self, path: str) -> int:
        os.unlink(self._real(path))
        return 0

    def symlink(self, target: str, source: str) -> int:
        os.symlink(source, self._real(target))
        return 0

    def readlink(self, path: str) -> str:
        return os.readlink(self._real(path))

    def link(self, target: str, source: str) -> int:
        os.link(self._real(source), self._real(target))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        os.chmod(self._real(path), mode)
        return 0

    def utimens(self, path: str, times: tuple[int, int] = (0, 0)) -> int:
        os.utime(self._real(path), ns=times, follow_symlinks=False)
        return 0

    def rename(self, old: str, new: str) -> int:
        source, target = self._real(old), self._real(new)
        if source != target and os.path.lexists(target):
            os.rename(source, target)  # what is replaced leaves its name
            source = target
        os.rename(source, self._named(new))
        return 0


class _Mount(mfusepy.FUSE):  # type: ignore[misc]
    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
        """Refuses an exchange, which would become a plain rename."""
        return -errno.EINVAL if flags else int(super().rename_fuse_3(old, new, flags))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFD", name.casefold())


if __name__ == "__main__":
    never_cached = {"entry_timeout": 0, "attr_timeout": 0, "negative_timeout": 0}
    _Mount(
        AnyCase(sys.argv[1]),
        sys.argv[2],
        foreground=True,
        nothreads=True,
        use_ino=True,
        default_permissions=True,
        **never_cached,
    )
