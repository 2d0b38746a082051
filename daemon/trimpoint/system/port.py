"""What the rest of the program asks of the operating system, where systems differ.

What a system cannot tell it answers with None, or with nothing; each caller says what it does then.
"""

import socket
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

CONNECT_AGAIN_S = 0.1
"""The time between two attempts to connect (`Sockets.connect_attempts`)."""


class Credentials(NamedTuple):
    """The process at the other end of a Unix socket, as it was when it connected. A pid of 0 is
    that of a process which is not visible from here.
    """

    pid: int
    uid: int
    gid: int


class ProcessFacts(NamedTuple):
    """A process: its parent, when it started (larger is later; None where that is hidden), and
    whether it has ended and only waits to be collected.
    """

    parent: int
    started: int | None
    is_ended: bool = False


class Bounds(NamedTuple):
    """How a process is confined. None stands for a namespace that it hides."""

    pids: int = 1
    """In how many pid namespaces the process has a pid."""
    gains_nothing: bool = False
    uid_map: bytes = b""
    user_ns: str | None = None
    network: str | None = None


class TcpEnd(NamedTuple):
    """The other end of a TCP connection: its user, and a number by which its holders are found."""

    uid: int
    inode: int


class Naming(NamedTuple):
    """How others name this system: Codex's answers, its npm packages, and its target triples."""

    codex: str
    package: str
    triple: str


class Files(Protocol):
    """Files and descriptors."""

    def sync_data(self, fd: int) -> None:
        """Waits until what was written to a file would outlive a loss of power.

        :raises OSError: when the disk refuses it.
        """
        ...

    def sync_folder(self, fd: int) -> None:
        """Waits until the names in a folder would outlive a loss of power.

        :raises OSError: when the disk refuses it.
        """
        ...

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        """Moves a file to a path that must not exist, or exchanges two files, in one step. A place
        is the descriptor of a folder and a name in it. Returns False where the system cannot.

        :raises FileExistsError: when `target` exists and is not to be exchanged
        :raises OSError: when the change is refused
        """
        ...

    def open_again(self, fd: int, flags: int) -> int | None:
        """Opens the pipe or terminal behind a descriptor once more, so that blocking modes are not
        shared. Returns None where that cannot be had.
        """
        ...

    def widen_pipe(self, fd: int) -> None:
        """Enlarges the buffer of a pipe, if that is possible; it saves wake-ups only."""
        ...

    def is_on_network(self, path: Path) -> bool:
        """Returns whether a path is known to be on a file system of another machine."""
        ...

    def written_by_others(self, folder: bytes) -> Iterable[bytes]:
        """Yields the paths of the files below a folder that other processes have open for writing;
        those that can be seen.
        """
        ...


class Sockets(Protocol):
    """Sockets and who is at their other ends."""

    max_socket_path_bytes: int
    """How long the path of a Unix socket may be."""

    sees_tcp_peers: bool
    """Whether the process at the other end of a TCP connection can be found."""

    connect_attempts: int
    """How many refused connections show that no process listens at a Unix socket: more than one
    where a process whose queue is full refuses, too.
    """

    def bind(self, listener: socket.socket, path: str) -> None:
        """Binds a Unix socket so that at no instant other users can connect.

        :raises OSError: when the path is refused.
        """
        ...

    def peer(self, sock: socket.socket) -> Credentials | None:
        """Returns who connected a Unix socket, or None where the system does not tell."""
        ...

    def open_pidfd_of_peer(self, sock: socket.socket) -> int | None:
        """Returns a descriptor as `open_pidfd` does, of the process that connected; None where the
        system has none. The caller closes it.

        :raises ProcessLookupError: when it has ended.
        """
        ...

    def tcp_end(self, peer: tuple[str, int], ours: tuple[str, int]) -> TcpEnd | None:
        """Returns the other end of a TCP connection, or None if it is closed, on another machine,
        or not visible.
        """
        ...

    def holds_socket(self, pid: int, inode: int) -> bool:
        """Returns whether a process is seen to have a socket open."""
        ...

    def hides_files(self, pid: int) -> bool:
        """Returns whether a process that runs hides which files it has open."""
        ...

    def is_listening(self, path: Path) -> bool | None:
        """Returns whether a process accepts connections at a Unix socket, without connecting to it;
        None where that cannot be seen.
        """
        ...


class Processes(Protocol):
    """Processes, as far as each user may look at them."""

    exit_statement: str
    """Python that has the kernel signal this process when its parent ends; empty where none can."""

    def open_pidfd(self, pid: int) -> int | None:
        """Returns a descriptor that becomes readable when the process ends, or None where the
        system has none. The caller closes it.

        :raises ProcessLookupError: when there is no such process.
        :raises OSError: when no more descriptors can be opened.
        """
        ...

    def pids(self) -> Collection[int]:
        """Returns the ids of the processes that can be seen."""
        ...

    def facts(self, pid: int) -> ProcessFacts:
        """Returns what is known of a process.

        :raises ProcessLookupError: when there is none.
        :raises OSError: when it cannot be looked at.
        """
        ...

    def bounds(self, pid: int) -> Bounds:
        """Returns how a process is confined.

        :raises OSError: when it has ended, or cannot be looked at.
        """
        ...

    def command_line(self, pid: int) -> list[bytes]:
        """Returns the words of a process; empty if they cannot be seen, one empty word while it
        loads its program.
        """
        ...

    def environment(self, pid: int) -> list[bytes] | None:
        """Returns the assignments that a process was started with, or None if they are hidden."""
        ...

    def owner(self, pid: int) -> int | None:
        """Returns the user of a process, or None if it cannot be seen."""
        ...

    def working_folder(self, pid: int) -> str | None:
        """Returns the folder that a process is in, or None if it is not visible or was removed."""
        ...

    def place_of(self, pid: int, fd: int) -> str | None:
        """Returns the path, or kind, of what a descriptor of a process leads to, or None."""
        ...

    def boot_id(self) -> str:
        """Returns what is another text after each start of the machine, as far as it is known."""
        ...

    def lock_holders(self, path: Path) -> list[int] | None:
        """Returns the ids of the processes that hold a `flock` on a file, 0 for one that is not
        visible from here; None where that cannot be seen.
        """
        ...

    def resident_bytes(self) -> int | None:
        """Returns the memory of this process, or None."""
        ...

    def open_descriptors(self) -> int | None:
        """Returns how many descriptors this process has open, or None."""
        ...

    def kernel_setting(self, name: str) -> str | None:
        """Returns a setting of the kernel by its dotted name, or None if there is none."""
        ...


class System(Files, Sockets, Processes, Protocol):
    """An operating system."""

    naming: Naming
    service_manager: Literal["systemd", "launchd"] | None
    has_display: bool
    """Whether each session on the machine has a screen, without a variable that says so."""
