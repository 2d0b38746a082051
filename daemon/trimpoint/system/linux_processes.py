"""Processes as Linux shows them in /proc."""

import ctypes
import errno
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from trimpoint.system.port import Bounds, ProcessFacts

_PIDFD_OPEN = 434  # of the system call, on every architecture that Python has wheels for
_MISSING = (errno.ENOSYS, errno.EPERM)  # the second in a container's seccomp filter
_ENDED_STATES = (b"Z", b"X")
_STATE, _PARENT, _START_TIME = 3, 4, 22  # proc(5), counted from 1

libc = ctypes.CDLL(None, use_errno=True)


class LinuxProcesses:
    """Uses pidfd_open(2), prctl(2) and proc(5)."""

    exit_statement = "import ctypes; ctypes.CDLL(None).prctl(1, 15)"  # PR_SET_PDEATHSIG, SIGTERM

    def open_pidfd(self, pid: int) -> int | None:
        try:
            # Missing in some builds of Python, such as uv's of before 2026.
            return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else _by_number(pid)
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise

    def pids(self) -> Collection[int]:
        with suppress(OSError):
            return [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return ()

    def facts(self, pid: int) -> ProcessFacts:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except FileNotFoundError:
            raise ProcessLookupError(pid) from None
        # The second field is the program's name in brackets and may itself hold blanks and
        # brackets.
        fields = stat.rpartition(b")")[2].split()
        return ProcessFacts(
            parent=int(fields[_PARENT - 3]),
            started=int(fields[_START_TIME - 3]),
            is_ended=fields[_STATE - 3] in _ENDED_STATES,
        )

    def bounds(self, pid: int) -> Bounds:
        folder = Path(f"/proc/{pid}")
        lines = (line.partition(b":") for line in (folder / "status").read_bytes().splitlines())
        status = {name: value.split() for name, _, value in lines}
        return Bounds(
            pids=len(status.get(b"NSpid", ())),
            gains_nothing=status.get(b"NoNewPrivs") == [b"1"],
            uid_map=(folder / "uid_map").read_bytes(),
            user_ns=_link(f"/proc/{pid}/ns/user"),
            network=_link(f"/proc/{pid}/ns/net"),
        )

    def command_line(self, pid: int) -> list[bytes]:
        return _strings(pid, "cmdline") or []

    def environment(self, pid: int) -> list[bytes] | None:
        return _strings(pid, "environ")

    def owner(self, pid: int) -> int | None:
        with suppress(OSError):
            return Path(f"/proc/{pid}").stat().st_uid
        return None

    def working_folder(self, pid: int) -> str | None:
        folder = _link(f"/proc/{pid}/cwd")
        # For a removed folder the kernel gives no path.
        return folder if folder is not None and os.path.isdir(folder) else None

    def place_of(self, pid: int, fd: int) -> str | None:
        return _link(f"/proc/{pid}/fd/{fd}")

    def boot_id(self) -> str:
        return self.kernel_setting("kernel.random.boot_id") or ""

    def lock_holders(self, path: Path) -> list[int] | None:
        try:
            wanted = path.stat()
        except FileNotFoundError:
            return []
        try:
            locks = list(_locks())
        except OSError:
            return None
        # Compared by inode, then by the process's open files: on some file systems the kernel's
        # table has another device number than `stat`.
        return [
            pid
            for pid, inode in locks
            if inode == wanted.st_ino and (pid == 0 or _has_open(pid, wanted))
        ]

    def resident_bytes(self) -> int | None:
        with suppress(OSError):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        return None

    def open_descriptors(self) -> int | None:
        with suppress(OSError):
            return len(os.listdir("/proc/self/fd"))
        return None

    def kernel_setting(self, name: str) -> str | None:
        with suppress(OSError):
            return Path("/proc/sys", *name.split(".")).read_text().strip()
        return None


def _strings(pid: int, kind: str) -> list[bytes] | None:
    try:
        return Path(f"/proc/{pid}/{kind}").read_bytes().split(b"\0")
    except OSError:
        return None


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _locks() -> Iterator[tuple[int, int]]:
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            yield max(0, int(words[4])), int(words[5].rpartition(":")[2])


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):
            if os.path.samestat(descriptor.stat(), wanted):
                return True
    return False


def _by_number(pid: int) -> int:
    descriptor: int = libc.syscall(_PIDFD_OPEN, pid, 0)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.set_inheritable(descriptor, False)
    return descriptor
