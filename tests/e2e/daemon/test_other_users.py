"""Other users of the machine are turned away (docs/spec/running.md)."""

import ctypes
import os
import platform
import socket
import threading
from pathlib import Path

import anyio
import pytest
from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.gateway.transport.listeners import serve_unix

from tests.e2e.conftest import Harness
from tests.e2e.wire import DEADLINE_S

pytestmark = pytest.mark.codex


NOBODY = 65534


SETRESUID = {"x86_64": 117, "aarch64": 147}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.skipif(
    platform.machine() not in SETRESUID, reason="the number of the system call is not known"
)
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
    """Returns the bytes that another user's connection receives.

    It connects in a thread whose user id alone is changed, because the kernel keeps user ids for
    each thread.
    """
    heard: list[bytes] = []

    def connect() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.syscall(SETRESUID[platform.machine()], -1, NOBODY, -1) == 0
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(DEADLINE_S)
            sock.connect(os.fspath(path))
            heard.append(sock.recv(1000))

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join(DEADLINE_S)
    assert heard, "nobody could connect, and so nothing was shown"
    return heard[0]
