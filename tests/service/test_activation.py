import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from trimpoint.service import activation
from trimpoint.service.activation import handed_over
from trimpoint.transport.listeners import ListenError

# Far above what a test run has open, whose own descriptors must not be replaced.
FIRST = 900
PID = 7


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="tp") as name:
        yield Path(name)


@pytest.fixture
def hand_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, str]]]:
    """Returns a function that passes sockets to this process as a service manager does, and returns
    the environment.
    """
    monkeypatch.setattr(activation, "FIRST_FD", FIRST)
    taken: list[int] = []

    def hand(
        *sockets: socket.socket | int, names: str | None = None, pid: int = PID
    ) -> dict[str, str]:
        for number, sock in enumerate(sockets):
            os.dup2(
                sock if isinstance(sock, int) else sock.fileno(), FIRST + number, inheritable=True
            )
            taken.append(FIRST + number)
        environ = {"LISTEN_PID": str(pid), "LISTEN_FDS": str(len(sockets)), "HOME": "/h"}
        return environ if names is None else environ | {"LISTEN_FDNAMES": names}

    yield hand
    for fd in taken:
        try:
            os.close(fd)
        except OSError:
            continue


def listening(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    return sock


@pytest.mark.parametrize("names", [None, "", "trimpoint", "trimpoint.socket", "unknown"])
def test_the_only_socket_is_taken_unless_it_is_anothers(
    folder: Path, hand_over: Callable[..., dict[str, str]], names: str | None
) -> None:
    with listening(folder / "s") as sock:
        environ = hand_over(sock, names=names)
        given = handed_over(environ, PID)
    assert given is not None
    assert given.listener is not None
    with given.listener:
        assert (given.path, given.listener.fileno(), given.listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)) == (
            folder / "s", FIRST, 1
        )  # fmt: skip
        assert not given.listener.get_inheritable()
    assert environ == {"HOME": "/h"}


def test_of_several_the_one_with_our_name_is_taken_and_the_rest_not_passed_on(
    folder: Path, hand_over: Callable[..., dict[str, str]]
) -> None:
    with listening(folder / "other") as other, listening(folder / "ours") as ours:
        given = handed_over(hand_over(other, ours, names="http:trimpoint"), PID)
    assert given is not None
    assert given.listener is not None
    with given.listener:
        assert given.path == folder / "ours"
        assert not os.get_inheritable(FIRST)
        os.fstat(FIRST)  # left open: what it is for is not ours to end


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_FDS": "1"},
        {"LISTEN_PID": "8", "LISTEN_FDS": "1"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "0"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "x"},
    ],
)
def test_sockets_meant_for_another_process_are_ignored(
    environ: dict[str, str],
) -> None:
    assert handed_over(environ, PID) is None
    assert environ == {}


@pytest.mark.parametrize("names", ["http", "trimpoint:trimpoint", ":", "http:ftp"])
def test_several_sockets_with_ambiguous_names_are_refused(
    folder: Path, hand_over: Callable[..., dict[str, str]], names: str
) -> None:
    with listening(folder / "a") as a, listening(folder / "b") as b:
        environ = hand_over(*[a, b][: len(names.split(":"))], names=names)
        with pytest.raises(ListenError, match="which to serve is not clear") as caught:
            handed_over(environ, PID)
    assert "FileDescriptorName=trimpoint" in caught.value.hint


def test_a_socket_that_is_no_unix_socket_with_a_path_is_refused(
    hand_over: Callable[..., dict[str, str]],
) -> None:
    unbound = socket.socket(socket.AF_UNIX)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0trimpoint-test-{os.getpid()}")
    for sock in (socket.socket(socket.AF_INET), unbound, abstract):
        with sock, pytest.raises(ListenError, match="is not a Unix socket with a path"):
            handed_over(hand_over(sock), PID)
    read_fd, write_fd = os.pipe()
    with pytest.raises(ListenError, match="is not a socket"):
        handed_over(hand_over(read_fd), PID)
    os.close(read_fd)
    os.close(write_fd)


def test_a_descriptor_that_was_promised_and_is_not_there_is_refused(
    hand_over: Callable[..., dict[str, str]],
) -> None:
    with pytest.raises(ListenError, match="Bad file descriptor"):
        handed_over({"LISTEN_PID": "7", "LISTEN_FDS": "1"}, PID)


def test_tcp_sockets_come_beside_the_unix_socket_or_alone(
    folder: Path, hand_over: Callable[..., dict[str, str]]
) -> None:
    with listening(folder / "s") as unix, socket.create_server(("127.0.0.1", 0)) as four:
        both = handed_over(hand_over(unix, four, names="trimpoint:trimpoint"), PID)
        assert both is not None
        assert both.listener is not None
        assert [sock.getsockname() for sock in both.http] == [four.getsockname()]
        both.listener.close()
        both.http[0].close()
        alone = handed_over(hand_over(four, names="trimpoint"), PID)
        assert alone is not None
        assert (alone.listener, alone.path, alone.http[0].getsockname()) == (
            None,
            None,
            four.getsockname(),
        )
        alone.http[0].close()
