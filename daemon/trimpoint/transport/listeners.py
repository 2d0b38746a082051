"""Listeners: a Unix socket for many clients, or this process's own stdio for one.

Always true: a listener is open to this user alone, never replaces another daemon's socket, and at
its end removes only the socket that it made. Each client has its own task, and an error in one does
not affect the others. The `serve_*` functions call `accept(transport)` for each client; the client
is connected until that returns.
"""

import fcntl
import os
import socket
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import structlog
from anyio.abc import TaskStatus
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.jsonrpc.framing import encode_line

from trimpoint.streams.ends import take_standard_streams
from trimpoint.system import SYSTEM
from trimpoint.system.port import CONNECT_AGAIN_S
from trimpoint.transport.acceptor import Accept, AcceptLimits, Acceptor, Peer
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.framing_errors import encode_refusal
from trimpoint.transport.peer_process import distrust_of_peer

MAX_SOCKET_PATH_BYTES = SYSTEM.max_socket_path_bytes
"""The longest path that fits into `sockaddr_un` with its final NUL."""

_BACKLOG = 1024

_log = structlog.get_logger("trimpoint.transport.listeners")


class ListenError(Exception):
    """Raised when a listener cannot be opened.

    `place` is a path or a file descriptor, `problem` says why, and `hint` says what the person who
    starts the daemon can do.
    """

    problem: str = ""
    hint: str = ""

    def __init__(self, place: Path | int, problem: str | None = None) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem or self.problem

    def __str__(self) -> str:
        place = self.place if isinstance(self.place, Path) else f"file descriptor {self.place}"
        return f"{place}: {self.problem}"


class SocketInUse(ListenError):
    """Raised when another process is serving the socket."""

    problem = "another process is serving this socket"
    hint = "Use the daemon that runs there, stop it, or give this one another --socket."


class SocketPathTaken(ListenError):
    """Raised when the path exists and is not a socket, perhaps a symbolic link. The file is left as
    it is.
    """

    problem = "exists and is not a socket"
    hint = "Move it away, or give another --socket."


class SocketPathTooLong(ListenError):
    """Raised when the path is longer than the kernel allows for a socket."""

    hint = "Give a shorter --socket, for example below $XDG_RUNTIME_DIR."


class FolderUnsafe(ListenError):
    """Raised when another user could replace the socket in its folder."""

    hint = "Give a --socket in a folder of your own that no other user can write to (mode 0700)."


class CannotListen(ListenError):
    """Raised when the operating system refuses to open the socket; `problem` has its reason."""

    hint = "Check the permissions of the folder, or give another --socket."


class SocketUnsuitable(ListenError):
    """Raised when a socket that was handed over is not a Unix stream socket that can accept
    clients.
    """

    hint = "Hand over a Unix stream socket (ListenStream= with a path in the systemd unit)."


class StdioClosed(ListenError):
    """Raised when the process was started without stdin or stdout."""

    problem = "is closed"
    hint = "Start it with both connected: its client talks to it over stdin and stdout."


async def serve_unix(
    place: Path | socket.socket,
    accept: Accept,
    *,
    max_clients: int = 256,
    accept_retry_s: float = 1.0,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serves clients of this user until cancelled; `task_status` is set once clients can connect.

    `place` is a path, or a Unix socket that is already bound (systemd's), whose file is left alone.
    When no client can be accepted, the next attempt follows after a client disconnects or after
    `accept_retry_s` seconds.

    :raises ListenError: when the socket cannot be opened; the subclass says why.
    """
    opened = _own_socket(place) if isinstance(place, Path) else _handed_over(place)
    with opened as listener:
        limits = AcceptLimits(max_clients, _too_many_clients(max_clients), accept_retry_s)
        acceptor = Acceptor(listener, accept, _admit, limits)
        task_status.started()
        await acceptor.serve()


def _admit(sock: socket.socket) -> Peer | None:
    peer = SYSTEM.peer(sock)
    if peer is None:
        return Peer("unknown", None, distrust_of_peer(sock))
    if peer.uid != os.geteuid():
        _log.warning("client_of_other_user_refused", peer_uid=peer.uid, peer_pid=peer.pid)
        return None
    folder = SYSTEM.working_folder(peer.pid)
    return Peer(f"uid {peer.uid}, pid {peer.pid}", folder, distrust_of_peer(sock))


def _too_many_clients(max_clients: int) -> bytes:
    refusal = encode_refusal(
        Reason.OVERLOADED,
        f"{max_clients} clients are connected, and no more are allowed",
        "close one of them, or raise the daemon's limit for clients",
        versioned=False,
    )
    return encode_line(refusal)


@contextmanager
def _handed_over(listener: socket.socket) -> Generator[socket.socket, None, None]:
    with listener:
        if listener.family != socket.AF_UNIX or listener.type != socket.SOCK_STREAM:
            raise SocketUnsuitable(listener.fileno(), "is not a Unix stream socket")
        try:
            listener.listen(_BACKLOG)
        except OSError:
            raise SocketUnsuitable(listener.fileno(), "is not bound, or is connected") from None
        listener.setblocking(False)
        yield listener


@contextmanager
def _own_socket(path: Path) -> Generator[socket.socket, None, None]:
    size_bytes = len(os.fsencode(path))
    if size_bytes > MAX_SOCKET_PATH_BYTES:
        raise SocketPathTooLong(
            path, f"{size_bytes} bytes, but at most {MAX_SOCKET_PATH_BYTES} are possible"
        )
    with _safe_folder(path.parent) as folder_fd:
        with _refusals(path), _only_one(folder_fd):
            listener = _bind(path, folder_fd)
            ours = _identity(path.name, folder_fd)
        with listener:
            try:
                yield listener
            finally:
                # The open listener keeps its inode from being given to another file until this is
                # done.
                with suppress(OSError), _only_one(folder_fd):
                    if _identity(path.name, folder_fd) == ours:
                        os.unlink(path.name, dir_fd=folder_fd)


def _bind(path: Path, folder_fd: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        _remove_stale(path, folder_fd)
        SYSTEM.bind(listener, os.fspath(path))
        listener.listen(_BACKLOG)
        _check_same_folder(path.parent, folder_fd)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path, folder_fd: int) -> None:
    try:
        mode = os.stat(path.name, dir_fd=folder_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketPathTaken(path)
    if _is_answered(path):
        raise SocketInUse(path)
    os.unlink(path.name, dir_fd=folder_fd)


def _is_answered(path: Path) -> bool:
    try:
        probe(path)
    except ConnectionRefusedError:
        return False
    except OSError:
        # A full backlog, or a socket of another kind: a process is listening.
        return True
    return True


def probe(path: Path) -> None:
    """Connects to a Unix socket, and closes the connection.

    :raises ConnectionRefusedError: when no process listens.
    :raises BlockingIOError: when a process listens, and its queue is full.
    :raises OSError: when it cannot be connected to for another reason.
    """
    for _ in range(SYSTEM.connect_attempts - 1):
        with suppress(ConnectionRefusedError):
            return _connect(path)
        time.sleep(CONNECT_AGAIN_S)
    return _connect(path)


def _connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ours:
        ours.setblocking(False)
        ours.connect(os.fspath(path))


@contextmanager
def _safe_folder(folder: Path) -> Generator[int, None, None]:
    with _refusals(folder):
        fd = _open_folder(folder)
    try:
        _check_folder(folder, os.fstat(fd))
        yield fd
    finally:
        os.close(fd)


def _open_folder(folder: Path) -> int:
    _make_folder(folder)
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        raise FolderUnsafe(folder, "is a symbolic link, or not a folder") from None


def _make_folder(folder: Path) -> None:
    """Makes a folder and its missing parents, each with mode 0700; `mkdir(parents=True)` would give
    the parents the umask's mode.
    """
    if not os.path.lexists(folder):
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _check_folder(folder: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise FolderUnsafe(folder, f"belongs to uid {found.st_uid}")
    if found.st_mode & 0o022:
        raise FolderUnsafe(
            folder, f"can be written to by others (mode {stat.S_IMODE(found.st_mode):04o})"
        )
    for parent in Path(os.path.realpath(folder)).parents:
        mode = parent.stat().st_mode
        if mode & 0o002 and not mode & stat.S_ISVTX:
            raise FolderUnsafe(folder, f"can be replaced by others, who can write to {parent}")


def _check_same_folder(folder: Path, folder_fd: int) -> None:
    if not os.path.samestat(os.stat(folder), os.fstat(folder_fd)):
        raise FolderUnsafe(folder, "was replaced while the socket was made")


@contextmanager
def _only_one(folder_fd: int) -> Generator[None, None, None]:
    """Holds a lock on the folder, so that only one daemon at a time opens or closes a listener
    there. Each holds it briefly.
    """
    fcntl.flock(folder_fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(folder_fd, fcntl.LOCK_UN)


@contextmanager
def _refusals(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise CannotListen(path, os.strerror(error.errno or 0)) from error


def _identity(name: str, folder_fd: int) -> tuple[int, int]:
    found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    return found.st_dev, found.st_ino


def take_stdio() -> Transport:
    """Returns a transport over stdin and stdout, and replaces them, so that `print` writes to
    stderr.

    :raises StdioClosed: when the process has no stdin or no stdout.
    """
    # A descriptor that was closed at the start may have been reused, for example by the loop's
    # epoll; only the interpreter's own objects still tell.
    for fd, file in enumerate((sys.__stdin__, sys.__stdout__)):
        if file is None:
            raise StdioClosed(fd)
    source, sink = take_standard_streams()
    return Transport(source, sink, f"stdio, parent pid {os.getppid()}")
