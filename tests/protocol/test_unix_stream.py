"""A connection to a Unix socket can be given up at any instant."""

import asyncio
import socket
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest
from trimpoint_protocol.client.unix import UnixStream, connect_unix

from tests.deadlines import STEP_S

LONG = b"x" * 4_000_000


@pytest.fixture
def listener(tmp_path: Path) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        yield listening


async def both_ends(listener: socket.socket) -> tuple[UnixStream, socket.socket]:
    stream = await connect_unix(listener.getsockname())
    return stream, listener.accept()[0]


async def test_a_cancelled_wait_is_not_completed_by_what_arrives_then(
    listener: socket.socket,
) -> None:
    """The plugin for pytest fails the test for what asyncio reports."""
    stream, other = await both_ends(listener)
    with other:
        async with stream, anyio.create_task_group() as tasks:
            tasks.start_soon(stream.receive)
            await anyio.wait_all_tasks_blocked()
            # In one turn of the loop: the wait is cancelled, and then the socket is readable.
            asyncio.get_running_loop().call_soon(tasks.cancel_scope.cancel)
            other.send(b"late")
        assert tasks.cancel_scope.cancelled_caught


async def test_bytes_go_both_ways_and_the_end_is_distinguished(listener: socket.socket) -> None:
    stream, other = await both_ends(listener)
    with anyio.fail_after(STEP_S):
        async with stream, anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, _echo, other, len(LONG))
            await stream.send(LONG)
            received = b""
            while len(received) < len(LONG):
                received += await stream.receive()
            assert received == LONG
            await stream.send_eof()
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()


async def test_a_waiting_caller_is_notified_of_the_close(listener: socket.socket) -> None:
    stream, other = await both_ends(listener)
    with other, anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_expect_closed, stream)
            await anyio.wait_all_tasks_blocked()
            await stream.aclose()
        await stream.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await stream.send(b"more")
        await _expect_closed(stream)


async def test_a_stream_whose_other_end_is_gone_is_broken(listener: socket.socket) -> None:
    stream, other = await both_ends(listener)
    other.close()
    async with stream:
        with pytest.raises(anyio.BrokenResourceError):
            await stream.send(LONG)


async def test_no_program_behind_the_socket_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await connect_unix(tmp_path / "none")


async def _expect_closed(stream: UnixStream) -> None:
    with pytest.raises(anyio.ClosedResourceError):
        await stream.receive()


def _echo(other: socket.socket, count: int) -> None:
    with other:
        received = b""
        while len(received) < count:
            received += other.recv(65536)
        other.sendall(received)
        other.recv(1)
