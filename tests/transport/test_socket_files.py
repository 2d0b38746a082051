"""The file of a Unix socket and its folder: whose they are, what stands in their place, and what is left at the end."""

import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from trimpoint.cli.connection.sockets import answering
from trimpoint.doctor.kernel import is_listening
from trimpoint.system import SYSTEM
from trimpoint.transport import listeners
from trimpoint.transport.listeners import (
    MAX_SOCKET_PATH_BYTES,
    CannotListen,
    FolderUnsafe,
    SocketInUse,
    SocketPathTaken,
    SocketPathTooLong,
    SocketUnsuitable,
)

from tests.transport.stage import (
    ANSWER,
    asked,
    client_of,
    is_there,
    leave_a_stale_socket,
    mode_of,
    refusal_of,
    serving,
)


async def test_the_folder_is_made_for_us_alone_and_so_is_the_socket(folder: Path) -> None:
    path = folder / "a" / "b" / "t.sock"
    umask = os.umask(0)
    try:
        async with serving(path):
            assert mode_of(path) == 0o600
            assert mode_of(folder / "a" / "b") == 0o700
            assert mode_of(folder / "a") == 0o700
    finally:
        os.umask(umask)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
async def test_a_folder_that_others_can_write_to_is_refused(socket_path: Path, mode: int) -> None:
    socket_path.parent.mkdir()
    socket_path.parent.chmod(mode)
    error = await refusal_of(socket_path)
    assert isinstance(error, FolderUnsafe)
    assert str(error) == f"{socket_path.parent}: can be written to by others (mode {mode:04o})"
    assert not is_there(socket_path)


async def test_a_folder_of_someone_else_is_refused(
    socket_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket_path.parent.mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    error = await refusal_of(socket_path)
    assert isinstance(error, FolderUnsafe)
    assert error.problem == f"belongs to uid {owner}"


async def test_a_folder_that_others_could_replace_is_refused(folder: Path) -> None:
    (folder / "open" / "ours").mkdir(parents=True, mode=0o700)
    (folder / "open").chmod(0o777)
    error = await refusal_of(folder / "open" / "ours" / "t.sock")
    assert isinstance(error, FolderUnsafe)
    assert str(folder / "open") in error.problem


@pytest.mark.parametrize("is_dangling", [False, True])
async def test_a_symbolic_link_in_the_place_of_the_folder_is_refused(
    folder: Path, is_dangling: bool
) -> None:
    if not is_dangling:
        (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "real")
    error = await refusal_of(folder / "link" / "t.sock")
    assert isinstance(error, FolderUnsafe)
    assert not is_there(folder / "real" / "t.sock")


async def test_a_folder_swapped_while_the_socket_is_made_is_noticed(
    socket_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_stale = listeners._remove_stale  # pyright: ignore[reportPrivateUsage]

    def swap(path: Path, folder_fd: int) -> None:
        remove_stale(path, folder_fd)
        path.parent.rename(path.parent.with_name("moved"))
        path.parent.mkdir()

    monkeypatch.setattr(listeners, "_remove_stale", swap)
    error = await refusal_of(socket_path)
    assert isinstance(error, FolderUnsafe)
    assert "replaced" in error.problem


@pytest.mark.parametrize(
    "kind", ["file", "folder", "link to file", "link to socket", "link to nothing"]
)
async def test_a_path_that_is_no_socket_is_left_in_place(
    socket_path: Path, folder: Path, kind: str
) -> None:
    put_in_place(socket_path, kind, folder)
    before = os.lstat(socket_path)
    assert isinstance(await refusal_of(socket_path), SocketPathTaken)
    assert os.path.samestat(os.lstat(socket_path), before)
    assert not is_there(folder / "nothing")


def put_in_place(path: Path, kind: str, folder: Path) -> None:
    path.parent.mkdir(mode=0o700)
    (folder / "file").touch()
    leave_a_stale_socket(folder / "socket")
    match kind:
        case "file":
            path.touch()
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(folder / kind.removeprefix("link to "))


async def test_a_path_too_long_is_refused_before_anything_is_made(folder: Path) -> None:
    room = MAX_SOCKET_PATH_BYTES - len(os.fsencode(folder / "run" / "x"))
    fitting = folder / "run" / ("é" * (room // 2) + "x" * (room % 2 + 1))
    too_long = fitting.with_name(fitting.name + "x")
    error = await refusal_of(too_long)
    assert isinstance(error, SocketPathTooLong)
    most = MAX_SOCKET_PATH_BYTES
    assert error.problem == f"{most + 1} bytes, but at most {most} are possible"
    assert not is_there(too_long.parent)
    async with serving(fitting), client_of(fitting) as client:
        assert await asked(client) == ANSWER


async def test_a_refusal_of_the_system_is_reported(folder: Path) -> None:
    (folder / "file").touch()
    error = await refusal_of(folder / "file" / "below" / "t.sock")
    assert isinstance(error, CannotListen)
    assert error.problem == "Not a directory"


async def test_a_socket_without_a_listener_is_replaced(socket_path: Path) -> None:
    socket_path.parent.mkdir(mode=0o700)
    leave_a_stale_socket(socket_path)
    async with serving(socket_path), client_of(socket_path) as client:
        assert await asked(client) == ANSWER


async def test_a_socket_that_is_served_is_not_taken_over(socket_path: Path) -> None:
    async with serving(socket_path):
        error = await refusal_of(socket_path)
        assert isinstance(error, SocketInUse)
        assert str(socket_path) in str(error)
        async with client_of(socket_path) as client:
            assert await asked(client) == ANSWER


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_a_socket_too_busy_to_answer_is_not_taken_over(socket_path: Path, kind: int) -> None:
    socket_path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, kind) as busy, socket.socket(socket.AF_UNIX) as client:
        busy.bind(os.fspath(socket_path))
        if kind == socket.SOCK_STREAM:
            busy.listen(0)
            client.connect(os.fspath(socket_path))
        assert isinstance(await refusal_of(socket_path), SocketInUse)


async def test_a_socket_that_refuses_while_it_is_busy_is_not_taken_over(
    socket_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SYSTEM, "connect_attempts", 3)
    async with serving(socket_path):
        with refused_at_first(2):
            assert isinstance(await refusal_of(socket_path), SocketInUse)
        with refused_at_first(2):
            monkeypatch.setattr(SYSTEM, "is_listening", lambda _: None)
            assert is_listening(socket_path)
        with refused_at_first(2):
            assert await answering([socket_path]) == socket_path
        with refused_at_first(3):
            assert await answering([socket_path]) is None


@contextmanager
def refused_at_first(count: int) -> Generator[None]:
    """Refuses so many connections, as a process does on macOS whose queue is full."""
    left = [ConnectionRefusedError()] * count

    class Refusing(socket.socket):
        def connect(self, address: object) -> None:
            if left:
                raise left.pop()
            super().connect(address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", Refusing)
        yield


async def test_the_socket_is_removed_at_the_end(socket_path: Path) -> None:
    async with serving(socket_path):
        assert is_there(socket_path)
    assert not is_there(socket_path)
    assert is_there(socket_path.parent)


@pytest.mark.parametrize("leave_in_place", [Path.touch, leave_a_stale_socket])
async def test_a_file_that_replaced_the_socket_is_not_removed(
    socket_path: Path, leave_in_place: Callable[[Path], None]
) -> None:
    async with serving(socket_path):
        os.unlink(socket_path)
        leave_in_place(socket_path)
    assert is_there(socket_path)


async def test_a_socket_that_someone_removed_is_no_trouble_at_the_end(socket_path: Path) -> None:
    async with serving(socket_path):
        os.unlink(socket_path)


@pytest.mark.parametrize("is_listening", [False, True])
async def test_a_socket_handed_over_is_served_and_its_file_left_alone(
    folder: Path, is_listening: bool
) -> None:
    path = folder / "t.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(path))
    path.chmod(0o640)
    if is_listening:
        listener.listen()
    async with serving(listener), client_of(path) as client:
        assert await asked(client) == ANSWER
    assert mode_of(path) == 0o640


@pytest.mark.parametrize(
    ("family", "kind", "problem"),
    [
        (socket.AF_INET, socket.SOCK_STREAM, "is not a Unix stream socket"),
        (socket.AF_UNIX, socket.SOCK_DGRAM, "is not a Unix stream socket"),
        (socket.AF_UNIX, socket.SOCK_STREAM, "is not bound, or is connected"),
    ],
)
async def test_a_socket_of_no_use_is_refused(family: int, kind: int, problem: str) -> None:
    listener = socket.socket(family, kind)
    fd = listener.fileno()
    error = await refusal_of(listener)
    assert isinstance(error, SocketUnsuitable)
    assert str(error) == f"file descriptor {fd}: {problem}"
