"""macOS, written to Apple's published headers and manuals; it has not run on a Mac of ours yet.

Structures are read by their offsets in the headers that are named beside them (64 bits).
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from trimpoint.system.port import Credentials, Naming, ProcessFacts
from trimpoint.system.posix import PosixFiles, PosixProcesses, PosixSockets

# sys/fcntl.h: writes to the medium, not to the drive's cache; the second only keeps the order.
_F_FULLFSYNC, _F_BARRIERFSYNC = 51, 85
_NO_FULL_SYNC = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
# sys/stdio.h
_RENAME_SWAP, _RENAME_EXCL = 2, 4
_NO_RENAME = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
# sys/mount.h, struct statfs
_STATFS_BYTES, _STATFS_FLAGS, _MNT_LOCAL = 2168, 64, 0x1000
# sys/un.h, sys/ucred.h
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED = struct.Struct("=IIh2x16I")
# sys/proc_info.h
_PROC_ALL_PIDS = 1
_PROC_PIDTBSDINFO, _PROC_PIDTASKINFO, _PROC_PIDVNODEPATHINFO = 3, 4, 9
_PROC_PIDT_SHORTBSDINFO = 13  # the only one of these that answers for processes of other users
_BSDINFO = struct.Struct("=12I16s32s5Ii2Q")
_SHORTBSDINFO = struct.Struct("=4I16s8I")
_TASKINFO_BYTES, _RESIDENT = 96, 8
_VNODEPATHINFO_BYTES, _CURRENT_PATH, _MAXPATHLEN = 2352, 152, 1024
_SZOMB = 5  # sys/proc.h
# sys/sysctl.h
_CTL_KERN, _KERN_PROCARGS2, _ARGUMENT_BYTES = 1, 49, 1024 * 1024
# sys/event.h, struct kevent: ident, filter, flags, fflags, data, udata
_KEVENT = struct.Struct("=QhHIqQ")
_EVFILT_PROC, _EV_ADD, _EV_ONESHOT, _NOTE_EXIT = -5, 1, 0x10, 0x80000000


class DarwinFiles(PosixFiles):
    """Uses F_FULLFSYNC and renameatx_np(2)."""

    _libc: Any

    def sync_data(self, fd: int) -> None:
        for command in (_F_FULLFSYNC, _F_BARRIERFSYNC):
            try:
                fcntl.fcntl(fd, command)
            except OSError as error:
                # Network and some foreign volumes have neither.
                if error.errno not in _NO_FULL_SYNC:
                    raise
            else:
                return
        os.fsync(fd)

    def sync_folder(self, fd: int) -> None:
        self.sync_data(fd)

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        flags = _RENAME_SWAP if exchange else _RENAME_EXCL
        if self._libc.renameatx_np(*source, *target, ctypes.c_uint(flags)) == 0:
            return True
        number = ctypes.get_errno()
        if number in _NO_RENAME:
            return False
        raise OSError(number, os.strerror(number), os.fsdecode(target[1]))

    def is_on_network(self, path: Path) -> bool:
        found = ctypes.create_string_buffer(_STATFS_BYTES)
        # On Intel the plain name is that of an older structure.
        statfs = getattr(self._libc, "statfs$INODE64", None) or self._libc.statfs
        if statfs(os.fsencode(path), found) != 0:
            return False
        (flags,) = struct.unpack_from("=I", found.raw, _STATFS_FLAGS)
        return not flags & _MNT_LOCAL


class DarwinSockets(PosixSockets):
    """Uses the options of unix(4). Of TCP the other end is not looked for."""

    def peer(self, sock: socket.socket) -> Credentials | None:
        raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        _, uid, _, gid, *_ = _XUCRED.unpack(raw)
        pid = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        return Credentials(pid, uid, gid)


class DarwinProcesses(PosixProcesses):
    """Uses proc_pidinfo, sysctl(3) and kqueue(2)."""

    _libc: Any

    def open_pidfd(self, pid: int) -> int | None:
        """Returns a queue that gets one event, the end of the process."""
        queue: int = self._libc.kqueue()
        if queue < 0:
            raise _last_error()
        os.set_inheritable(queue, False)
        change = _KEVENT.pack(pid, _EVFILT_PROC, _EV_ADD | _EV_ONESHOT, _NOTE_EXIT, 0, 0)
        if self._libc.kevent(queue, change, 1, None, 0, None) < 0:
            error = _last_error()
            os.close(queue)
            raise error
        return queue

    def pids(self) -> Collection[int]:
        size = self._libc.proc_listpids(_PROC_ALL_PIDS, 0, None, 0)
        if size <= 0:
            return ()
        found = ctypes.create_string_buffer(2 * size)  # more may begin meanwhile
        size = self._libc.proc_listpids(_PROC_ALL_PIDS, 0, found, len(found))
        pids = struct.unpack_from(f"={max(size, 0) // 4}i", found.raw)
        return [pid for pid in pids if pid > 0]

    def facts(self, pid: int) -> ProcessFacts:
        try:
            found = _BSDINFO.unpack(self._information(pid, _PROC_PIDTBSDINFO, _BSDINFO.size))
        except PermissionError:
            _, parent, _, status, *_ = self._short(pid)
            return ProcessFacts(parent, started=None, is_ended=status == _SZOMB)
        seconds, microseconds = found[-2:]
        return ProcessFacts(
            parent=found[4],
            started=seconds * 1_000_000 + microseconds,
            is_ended=found[1] == _SZOMB,
        )

    def owner(self, pid: int) -> int | None:
        with contextlib.suppress(OSError):
            uid: int = self._short(pid)[6]
            return uid
        return None

    def working_folder(self, pid: int) -> str | None:
        with contextlib.suppress(OSError):
            found = self._information(pid, _PROC_PIDVNODEPATHINFO, _VNODEPATHINFO_BYTES)
            path = found[_CURRENT_PATH : _CURRENT_PATH + _MAXPATHLEN].partition(b"\0")[0]
            return os.fsdecode(path) if os.path.isdir(path) else None
        return None

    def resident_bytes(self) -> int | None:
        with contextlib.suppress(OSError):
            found = self._information(os.getpid(), _PROC_PIDTASKINFO, _TASKINFO_BYTES)
            size: int = struct.unpack_from("=Q", found, _RESIDENT)[0]
            return size
        return None

    def command_line(self, pid: int) -> list[bytes]:
        return self._strings(pid)[0]

    def environment(self, pid: int) -> list[bytes] | None:
        # Empty for programs with the hardened runtime, whose environment is hidden.
        return self._strings(pid)[1] or None

    def boot_id(self) -> str:
        found, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
        name = b"kern.bootsessionuuid"
        if self._libc.sysctlbyname(name, found, ctypes.byref(size), None, 0) != 0:
            return ""
        return found.value.decode("ascii", "replace")

    def _short(self, pid: int) -> tuple[Any, ...]:
        found = self._information(pid, _PROC_PIDT_SHORTBSDINFO, _SHORTBSDINFO.size)
        return _SHORTBSDINFO.unpack(found)

    def _information(self, pid: int, kind: int, size: int) -> bytes:
        found = ctypes.create_string_buffer(size)
        # With 0, a process that has ended and was not collected would not be found.
        written = self._libc.proc_pidinfo(pid, kind, ctypes.c_uint64(1), found, size)
        if written != size:
            raise _last_error() if ctypes.get_errno() else ProcessLookupError(pid)
        return found.raw

    def _strings(self, pid: int) -> tuple[list[bytes], list[bytes]]:
        """Returns the arguments and the environment: the number of arguments, the path of the
        program, zeros up to a multiple of the word size, then the strings.
        """
        name = (ctypes.c_int * 3)(_CTL_KERN, _KERN_PROCARGS2, pid)
        found = ctypes.create_string_buffer(_ARGUMENT_BYTES)
        size = ctypes.c_size_t(len(found))
        if self._libc.sysctl(name, 3, found, ctypes.byref(size), None, 0) != 0 or size.value < 4:
            return [], []
        raw = found.raw[: size.value]
        (count,) = struct.unpack_from("=i", raw)
        strings = raw[4:].partition(b"\0")[2].lstrip(b"\0").split(b"\0")
        words, rest = strings[:count], strings[count:]
        return words, rest[: rest.index(b"")] if b"" in rest else rest


class Darwin(DarwinFiles, DarwinSockets, DarwinProcesses):
    """macOS 11 or later."""

    naming = Naming("macos", "darwin", "apple-darwin")
    service_manager: Literal["systemd", "launchd"] | None = "launchd"
    has_display = True

    def __init__(self, libc: Any = None) -> None:
        self._libc = libc if libc is not None else ctypes.CDLL(None, use_errno=True)


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
