"""Listening on a Unix socket: its folder, its file and its clients."""

import asyncio
import json
import os
import resource
import shutil
import socket
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest
import structlog
from structlog.testing import capture_logs
from trimpoint.gateway.transport import listeners
from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.gateway.transport.connection import ClientMessage, Connection, Limits
from trimpoint.gateway.transport.listeners import (
    MAX_SOCKET_PATH_BYTES,
    Accept,
    CannotListen,
    Credentials,
    FolderUnsafe,
    SocketInUse,
    SocketPathTaken,
    SocketPathTooLong,
    SocketUnsuitable,
    serve_unix,
)
from trimpoint_protocol.peer import Asked

from tests.deadlines import STEP_S

REQUEST = b'{"id":1,"method":"m"}\n'
ANSWER = b'{"id":1,"result":"m"}\n'


def answer(connection: Connection, message: ClientMessage) -> None:
    assert isinstance(message, Asked)
    connection.answer(message, message.request.method)


async def serve_answers(transport: Transport) -> None:
    await Connection(transport, Limits(), answer).run()


@pytest.fixture
def folder() -> Iterator[Path]:
    # pytest's own are too long for a socket's path.
    path = Path(tempfile.mkdtemp(prefix="tp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def socket_path(folder: Path) -> Path:
    return folder / "run" / "t.sock"


@asynccontextmanager
async def serving(
    place: Path | socket.socket,
    accept: Accept = serve_answers,
    *,
    max_clients: int = 256,
    accept_retry_s: float = 3600,
) -> AsyncGenerator[None, None]:
    async def serve(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        await serve_unix(
            place,
            accept,
            max_clients=max_clients,
            accept_retry_s=accept_retry_s,
            task_status=task_status,
        )

    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(STEP_S):
            await tasks.start(serve)
            yield
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def client_of(path: Path) -> AsyncGenerator[socket.socket, None]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, os.fspath(path))
        yield sock


async def asked(sock: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, REQUEST)
    return await loop.sock_recv(sock, 1000)


async def received(sock: socket.socket) -> bytes:
    data = b""
    while chunk := await asyncio.get_running_loop().sock_recv(sock, 10_000):
        data += chunk
    return data


async def refusal_of(place: Path | socket.socket) -> listeners.ListenError:
    with pytest.raises(listeners.ListenError) as caught, anyio.fail_after(STEP_S):
        await serve_unix(place, serve_answers)
    assert caught.value.hint
    return caught.value


@contextmanager
def logged(event: str) -> Generator[anyio.Event, None, None]:
    """Yields an event that is set when the log entry `event` is written."""
    noticed = anyio.Event()

    def notice(_logger: Any, _name: str, entry: MutableMapping[str, Any]) -> NoReturn:
        if entry["event"] == event:
            noticed.set()
        raise structlog.DropEvent

    processors = structlog.get_config()["processors"]
    structlog.configure(processors=[notice])
    try:
        yield noticed
    finally:
        structlog.configure(processors=processors)


def leave_a_stale_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.fspath(path))
        sock.listen()


def is_there(path: Path) -> bool:
    return os.path.lexists(path)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


async def test_a_client_connects_and_is_answered(socket_path: Path) -> None:
    async with serving(socket_path), client_of(socket_path) as client:
        assert await asked(client) == ANSWER


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
    assert error.problem == "108 bytes, but at most 107 are possible"
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


async def test_clients_are_let_go_at_the_end(socket_path: Path) -> None:
    async with client_of_a_server_that_ends(socket_path) as client:
        assert await received(client) == b""


@asynccontextmanager
async def client_of_a_server_that_ends(path: Path) -> AsyncGenerator[socket.socket, None]:
    with socket.socket(socket.AF_UNIX) as sock:
        async with serving(path):
            sock.connect(os.fspath(path))
            sock.setblocking(False)
            assert await asked(sock) == ANSWER
        yield sock


async def test_a_client_of_another_user_is_refused_and_logged(
    socket_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(sock: socket.socket) -> Credentials:
        return Credentials(pid=77, uid=os.geteuid() + 1, gid=0)

    monkeypatch.setattr(listeners, "peer_credentials", another)
    async with serving(socket_path), client_of(socket_path) as client:
        with capture_logs() as logs:
            assert await received(client) == b""
    assert [(log["event"], log["peer_uid"], log["peer_pid"]) for log in logs] == [
        ("client_of_other_user_refused", os.geteuid() + 1, 77)
    ]


async def test_a_peer_is_identified_by_the_kernel(socket_path: Path) -> None:
    peers: list[str] = []

    async def note(transport: Transport) -> None:
        peers.append(transport.peer)

    async with serving(socket_path, note), client_of(socket_path) as client:
        assert await received(client) == b""
    assert peers == [f"uid {os.geteuid()}, pid {os.getpid()}"]


async def test_a_client_beyond_the_limit_is_refused_and_the_others_stay(socket_path: Path) -> None:
    async with serving(socket_path, max_clients=1), client_of(socket_path) as first:
        assert await asked(first) == ANSWER
        async with client_of(socket_path) as second:
            text = await received(second)
        assert text.endswith(b"\n")
        error = json.loads(text)["error"]
        assert error["data"] == {
            "reason": "overloaded",
            "retryable": True,
            "hint": "close one of them, or raise the daemon's limit for clients",
        }
        assert await asked(first) == ANSWER


async def test_a_place_that_became_free_is_given_to_the_next(socket_path: Path) -> None:
    left = anyio.Event()

    async def serve(transport: Transport) -> None:
        await serve_answers(transport)
        left.set()

    async with serving(socket_path, serve, max_clients=1):
        async with client_of(socket_path) as first:
            assert await asked(first) == ANSWER
        await left.wait()
        async with client_of(socket_path) as second:
            assert await asked(second) == ANSWER


async def test_a_defect_in_serving_one_client_is_logged_and_spares_the_others(
    socket_path: Path,
) -> None:
    async def fail_first(transport: Transport) -> None:
        if not failed:
            failed.append(True)
            raise RuntimeError("a defect")
        await serve_answers(transport)

    failed: list[bool] = []
    async with serving(socket_path, fail_first):
        with capture_logs() as logs:
            async with client_of(socket_path) as first:
                assert await received(first) == b""
        async with client_of(socket_path) as second:
            assert await asked(second) == ANSWER
    assert [log["event"] for log in logs] == ["client_not_served"]


@pytest.fixture
def few_descriptors() -> Iterator[list[int]]:
    """Limits the process to a few more file descriptors than are open. Those in the yielded list
    are closed at the end.
    """
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, before[1]))
    taken: list[int] = []
    yield taken
    for fd in taken:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def take_all_descriptors(taken: list[int]) -> None:
    while True:
        try:
            taken.append(os.dup(0))
        except OSError:
            return


NO_ROOM = "accept_failed"


async def test_running_out_of_descriptors_is_survived(
    socket_path: Path, few_descriptors: list[int]
) -> None:
    async with serving(socket_path, accept_retry_s=0.01):
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            take_all_descriptors(few_descriptors)
            with logged(NO_ROOM) as has_run_out:
                client.connect(os.fspath(socket_path))
                await has_run_out.wait()
            while few_descriptors:
                os.close(few_descriptors.pop())
            assert await asked(client) == ANSWER


async def test_a_departure_makes_room_at_once_for_who_waits(
    socket_path: Path, few_descriptors: list[int]
) -> None:
    async with serving(socket_path):
        with socket.socket(socket.AF_UNIX) as waiting, logged(NO_ROOM) as has_run_out:
            async with client_of(socket_path) as first:
                assert await asked(first) == ANSWER
                waiting.setblocking(False)
                take_all_descriptors(few_descriptors)
                waiting.connect(os.fspath(socket_path))
                await has_run_out.wait()
            assert await asked(waiting) == ANSWER


async def test_a_thousand_clients_are_served_at_once(socket_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2500:
        pytest.skip("the system allows too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2500), before[1]))
    answers = 0

    async def ask() -> None:
        nonlocal answers
        async with client_of(socket_path) as client:
            assert await asked(client) == ANSWER
            answers += 1
            if answers == 1000:
                everyone_is_answered.set()
            await everyone_is_answered.wait()

    everyone_is_answered = anyio.Event()
    try:
        async with serving(socket_path, max_clients=1000), anyio.create_task_group() as tasks:
            for _ in range(1000):
                tasks.start_soon(ask)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert answers == 1000


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
