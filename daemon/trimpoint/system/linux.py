"""Linux: each call may be missing in the kernel, in the C library or in this build of Python."""

import ctypes
import errno
import os

_PIDFD_OPEN = 434  # of the system call, on every architecture that Python has wheels for
_MISSING = (errno.ENOSYS, errno.EPERM)  # the second in a container's seccomp filter
_NOREPLACE, _EXCHANGE = 1, 2
# The errors of a kernel, C library or file system without renameat2.
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


class Linux:
    """Uses pidfd_open(2), fdatasync(2) and renameat2(2) where they are."""

    max_socket_path_bytes = 107

    def open_pidfd(self, pid: int) -> int | None:
        try:
            # Missing in some builds of Python, such as uv's of before 2026.
            return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else _by_number(pid)
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise

    def sync_data(self, fd: int) -> None:
        if hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
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


def _by_number(pid: int) -> int:
    descriptor: int = _libc.syscall(_PIDFD_OPEN, pid, 0)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.set_inheritable(descriptor, False)
    return descriptor


_libc = ctypes.CDLL(None, use_errno=True)
