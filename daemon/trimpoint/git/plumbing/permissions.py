"""The permissions of captured files, of which git itself keeps only the executable bit.

Most files of a worktree have the same permissions, so these are stored once, and only files that
differ are listed.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

EXECUTABLE, REGULAR, LINK = 0o100755, 0o100644, 0o120000

_READ_WRITE_EXECUTE = 0o777


class Permissions(msgspec.Struct, frozen=True):
    """The permissions of a checkpoint's files: those of most regular and most executable files, and
    in `named` those of files that differ, by path.
    """

    regular: int = 0o644
    executable: int = 0o755
    named: dict[bytes, int] = msgspec.field(default_factory=dict[bytes, int])

    def of(self, path: bytes, mode: int) -> int | None:
        """Returns the permissions of a file of the checkpoint, given its git mode; None for a
        link.
        """
        if mode not in (EXECUTABLE, REGULAR):
            return None
        return self.named.get(path, self._usual(mode))

    def with_files(self, files: Iterable[tuple[bytes, int, int | None]]) -> "Permissions":
        """Returns a copy with changed or added files. Each file is its path, git mode and
        permissions.
        """
        named = dict(self.named)
        for path, mode, permissions in files:
            named.pop(path, None)
            if permissions is not None and permissions != self._usual(mode):
                named[path] = permissions
        return msgspec.structs.replace(self, named=named)

    def _usual(self, mode: int) -> int:
        return self.executable if mode == EXECUTABLE else self.regular


def permissions_in(mode: int) -> int:
    """Returns the part of a file's mode that a checkpoint keeps: who may read, write and execute
    it.
    """
    return mode & _READ_WRITE_EXECUTE


def file_mode(mode: int) -> int:
    """Returns the git mode of a regular file with this mode."""
    return EXECUTABLE if mode & stat.S_IXUSR else REGULAR


def read_permissions(root: bytes, paths: Iterable[bytes]) -> Permissions:
    """Reads the permissions of the files. A missing file counts as having the usual ones.
    Blocking.
    """
    found: dict[bytes, int] = {}
    prefix = root + b"/"
    for path in paths:
        try:
            mode = os.lstat(prefix + path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            found[path] = permissions_in(mode)
    return _grouped(found)


def _grouped(found: Mapping[bytes, int]) -> Permissions:
    counts = Counter(found.values())
    regular = _most_frequent(counts, REGULAR, 0o644)
    executable = _most_frequent(counts, EXECUTABLE, 0o755)
    named = {
        path: mode
        for path, mode in found.items()
        if mode != (executable if file_mode(mode) == EXECUTABLE else regular)
    }
    return Permissions(regular, executable, named)


def _most_frequent(counts: Counter[int], kind: int, otherwise: int) -> int:
    of_kind = [(count, mode) for mode, count in counts.items() if file_mode(mode) == kind]
    return max(of_kind)[1] if of_kind else otherwise
