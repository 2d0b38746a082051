"""Listening on a Unix socket: its clients. `test_socket_files.py` is about its file."""

import json
import os
import resource
import socket
from collections.abc import AsyncGenerator, Generator, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest
import structlog
from structlog.testing import capture_logs
from trimpoint.system import SYSTEM
from trimpoint.system.port import Credentials
from trimpoint.transport.client_stream import Transport

from tests.transport.stage import ANSWER, asked, client_of, received, serve_answers, serving


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


async def test_a_client_connects_and_is_answered(socket_path: Path) -> None:
    async with serving(socket_path), client_of(socket_path) as client:
        assert await asked(client) == ANSWER


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

    monkeypatch.setattr(SYSTEM, "peer", another)
    async with serving(socket_path), client_of(socket_path) as client:
        with capture_logs() as logs:
            assert await received(client) == b""
    assert [(log["event"], log["peer_uid"], log["peer_pid"]) for log in logs] == [
        ("client_of_other_user_refused", os.geteuid() + 1, 77)
    ]


@pytest.mark.linux("the system tells who connected")
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
