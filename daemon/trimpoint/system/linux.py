"""Linux: each call may be missing in the kernel, in the C library or in this build of Python, and
/proc may be hidden.
"""

import ctypes
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from trimpoint.system.linux_processes import LinuxProcesses
from trimpoint.system.linux_sockets import LinuxSockets
from trimpoint.system.port import Naming

_NOREPLACE, _EXCHANGE = 1, 2
# The errors of a kernel, C library or file system without renameat2.
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
# The largest pipe that an unprivileged process may request by default (/proc/sys/fs/pipe-max-size).
_PIPE_BYTES = 1024 * 1024
_NETWORKED = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs"})


class LinuxFiles:
    """Uses fdatasync(2), renameat2(2) and /proc/self/fd where they are."""

    def sync_data(self, fd: int) -> None:
        if hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            os.fsync(fd)

    def sync_folder(self, fd: int) -> None:
        os.fsync(fd)

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        if not hasattr(_libc, "renameat2"):
            return False
        if _libc.renameat2(*source, *target, _EXCHANGE if exchange else _NOREPLACE) == 0:
            return True
        number = ctypes.get_errno()
        if number in _NOT_SUPPORTED:
            return False
        raise OSError(number, os.strerror(number), os.fsdecode(target[1]))

    def open_again(self, fd: int, flags: int) -> int | None:
        with suppress(OSError):
            return os.open(f"/proc/self/fd/{fd}", flags)
        return None

    def widen_pipe(self, fd: int) -> None:
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def is_on_network(self, path: Path) -> bool:
        """Returns whether the mount that has the path is of a known kind of another machine."""
        try:
            table = Path("/proc/self/mounts").read_text(errors="surrogateescape")
        except OSError:
            return False
        rows = (line.split(" ") for line in table.splitlines())
        found = [(Path(_unescaped(row[1])), row[2]) for row in rows if len(row) > 2]
        real = path.resolve()
        # Of two on one folder, the later one is seen.
        above = [(len(at.parts), kind) for at, kind in found if real.is_relative_to(at)]
        deepest = max((depth for depth, _ in above), default=0)
        kinds = [kind for depth, kind in above if depth == deepest]
        return bool(kinds) and kinds[-1] in _NETWORKED

    def written_by_others(self, folder: bytes) -> Iterable[bytes]:
        prefix = folder.rstrip(b"/") + b"/"
        for descriptors in _descriptor_folders():
            for name, file in _open_files(descriptors):
                if file.startswith(prefix) and _is_writable(descriptors, name):
                    yield file


class Linux(LinuxFiles, LinuxSockets, LinuxProcesses):
    """Linux, with systemd if it has a service manager."""

    naming = Naming("linux", "linux", "unknown-linux-musl")
    service_manager: Literal["systemd", "launchd"] | None = "systemd"
    has_display = False


def _unescaped(name: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        name = name.replace(code, character)
    return name


def _descriptor_folders() -> Iterator[bytes]:
    with suppress(OSError):
        for name in os.listdir(b"/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield b"/proc/" + name + b"/fd"


def _open_files(folder: bytes) -> Iterator[tuple[bytes, bytes]]:
    # Processes may end and descriptors may be closed meanwhile.
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                yield name, os.readlink(os.path.join(folder, name))


def _is_writable(folder: bytes, name: bytes) -> bool:
    with suppress(OSError, ValueError, IndexError, StopIteration):
        facts = Path(os.fsdecode(folder + b"info/" + name)).read_text()
        flags = next(line.split()[1] for line in facts.splitlines() if line.startswith("flags:"))
        return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


_libc = ctypes.CDLL(None, use_errno=True)
