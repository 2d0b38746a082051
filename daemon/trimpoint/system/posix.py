"""A system of which only POSIX is known: nothing optional is there, and other processes cannot be
looked at.
"""

import contextlib
import os
import socket
import stat
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

from trimpoint.system.port import Bounds, Credentials, Naming, ProcessFacts, TcpEnd


class PosixFiles:
    """Files and descriptors."""

    def sync_data(self, fd: int) -> None:
        os.fsync(fd)

    def sync_folder(self, fd: int) -> None:
        os.fsync(fd)

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        return False

    def open_again(self, fd: int, flags: int) -> int | None:
        # A terminal has a name; a pipe has none.
        with contextlib.suppress(OSError):
            if os.isatty(fd):
                return os.open(os.ttyname(fd), flags)
        return None

    def widen_pipe(self, fd: int) -> None:
        return

    def is_on_network(self, path: Path) -> bool:
        return False

    def written_by_others(self, folder: bytes) -> Iterable[bytes]:
        return ()


class PosixSockets:
    """Sockets, whose other ends are not known: only the modes of files and folders keep others
    out.
    """

    max_socket_path_bytes = 103
    sees_tcp_peers = False
    connect_attempts = 5

    def bind(self, listener: socket.socket, path: str) -> None:
        # The mode of a socket cannot be set before there is a file. The mask is that of the whole
        # process; a file that another thread makes meanwhile is only more private.
        previous = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(previous)

    def peer(self, sock: socket.socket) -> Credentials | None:
        return None

    def open_pidfd_of_peer(self, sock: socket.socket) -> int | None:
        return None

    def tcp_end(self, peer: tuple[str, int], ours: tuple[str, int]) -> TcpEnd | None:
        return None

    def holds_socket(self, pid: int, inode: int) -> bool:
        return False

    def hides_files(self, pid: int) -> bool:
        return False

    def is_listening(self, path: Path) -> bool | None:
        try:
            is_socket = stat.S_ISSOCK(path.lstat().st_mode)
        except OSError:
            is_socket = False
        return None if is_socket else False


class PosixProcesses:
    """Processes: only that one exists can be asked."""

    exit_statement = ""

    def open_pidfd(self, pid: int) -> int | None:
        return None

    def pids(self) -> Collection[int]:
        return ()

    def facts(self, pid: int) -> ProcessFacts:
        if pid == os.getpid():
            return ProcessFacts(os.getppid(), 0)
        raise PermissionError(f"process {pid} cannot be looked at")

    def bounds(self, pid: int) -> Bounds:
        return Bounds()

    def command_line(self, pid: int) -> list[bytes]:
        return []

    def environment(self, pid: int) -> list[bytes] | None:
        return None

    def owner(self, pid: int) -> int | None:
        return None

    def working_folder(self, pid: int) -> str | None:
        return None

    def place_of(self, pid: int, fd: int) -> str | None:
        return None

    def boot_id(self) -> str:
        return ""

    def lock_holders(self, path: Path) -> list[int] | None:
        return None

    def resident_bytes(self) -> int | None:
        return None

    def open_descriptors(self) -> int | None:
        with contextlib.suppress(OSError):
            return len(os.listdir("/dev/fd"))
        return None

    def kernel_setting(self, name: str) -> str | None:
        return None


class Posix(PosixFiles, PosixSockets, PosixProcesses):
    """Does without what POSIX does not have."""

    # The programs are still those of the system that runs.
    naming = Naming(
        "macos" if sys.platform == "darwin" else sys.platform,
        "darwin" if sys.platform == "darwin" else "linux",
        "apple-darwin" if sys.platform == "darwin" else "unknown-linux-musl",
    )
    service_manager: Literal["systemd", "launchd"] | None = None
    has_display = False
