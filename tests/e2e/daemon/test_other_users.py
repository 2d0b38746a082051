"""Other users of the machine are turned away (docs/spec/running.md)."""

import ctypes
import json
import os
import platform
import select
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import pytest
from trimpoint.http.access.credentials import Credentials
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.listeners import serve_unix

from tests.e2e.conftest import Harness
from tests.e2e.wire import DEADLINE_S
from tests.http.stage import staged

T = TypeVar("T")

pytestmark = pytest.mark.codex


NOBODY = 65534


SETRESUID = {"x86_64": 117, "aarch64": 147}


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or platform.machine() not in SETRESUID,
    reason="only root can be somebody else, by a system call whose number is known",
)


@needs_root
@pytest.mark.linux("the system tells who connected")
async def test_another_user_is_turned_away_even_from_a_socket_that_lets_him_connect(
    harness: Harness,
) -> None:
    # Handed over and open to all, as by a careless unit: only the daemon's own look at the peer is
    # left.
    path = harness.state_dir.parent / "open.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(path))
    path.chmod(0o666)
    path.parent.chmod(0o755)
    served: list[str] = []

    async def accept(transport: Transport) -> None:
        served.append(transport.peer)

    async with anyio.create_task_group() as tasks:
        await tasks.start(lambda task_status: serve_unix(listener, accept, task_status=task_status))
        heard = await anyio.to_thread.run_sync(_heard_as_nobody, path)
        tasks.cancel_scope.cancel()
    assert (heard, served) == (b"", [])


def _heard_as_nobody(path: Path) -> bytes:
    """Returns the bytes that another user's connection receives."""

    def connect() -> bytes:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(DEADLINE_S)
            sock.connect(os.fspath(path))
            return sock.recv(1000)

    return as_nobody(connect)


def as_nobody(act: Callable[[], T]) -> T:
    """Returns what `act` returns in a thread whose user id alone is changed: the kernel keeps user
    ids for each thread.
    """
    done: list[T] = []

    def run() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.syscall(SETRESUID[platform.machine()], -1, NOBODY, -1) == 0
        done.append(act())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(DEADLINE_S)
    assert done, "nobody could connect, and so nothing was shown"
    return done[0]


def _asked(port: int, request: str, *headers: str, body: str = "") -> str:
    """Returns the response to one request over TCP."""
    lines = [f"{request} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as sock:
        sock.sendall("\r\n".join([*lines, "", body]).encode())
        answer = b""
        while data := sock.recv(65536):
            answer += data
        return answer.decode()


@needs_root
@pytest.mark.linux("the system tells who connected")
async def test_another_user_can_use_no_code_no_login_and_no_token(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        code = stage.daemon.http.addresses.login_url().url.partition("#code=")[2]
        body = json.dumps({"code": code})
        login = Credentials(stage.token).new_login(int(time.time()))
        tried = [
            partial(_asked, stage.port, "POST /login", body=body),
            *(
                partial(_asked, stage.port, "GET /api/v1/threads", f"Authorization: Bearer {proof}")
                for proof in (login, stage.token)
            ),
        ]
        answers = await anyio.to_thread.run_sync(as_nobody, lambda: [ask() for ask in tried])
        owners = await anyio.to_thread.run_sync(tried[0])
    assert [answer.split()[1] for answer in answers] == ["403"] * 3
    assert all("Another user runs it (uid 65534)." in answer for answer in answers)
    assert owners.split()[1] == "200"


@needs_root
async def test_another_user_cannot_take_all_connections(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:

        def connected() -> list[socket.socket]:
            place = ("127.0.0.1", stage.port)
            return [socket.create_connection(place, DEADLINE_S) for _ in range(120)]

        sockets = await anyio.to_thread.run_sync(as_nobody, connected)
        try:
            poll = select.poll()
            for sock in sockets:
                poll.register(sock, select.POLLIN)
            with anyio.fail_after(DEADLINE_S):
                while len(poll.poll(0)) < 70:
                    await anyio.lowlevel.checkpoint()
            answer = await stage.asked("GET", "/api/v1/threads")
        finally:
            for sock in sockets:
                sock.close()
    assert answer.status == 200
