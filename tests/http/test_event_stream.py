"""Server-sent events over a pair of sockets: their form, and readers that do not read."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import UNIXSocketStream
from trimpoint.gateway.session.clients import Clients, Delivery
from trimpoint.http import event_stream
from trimpoint.http.event_stream import begin, event_connection
from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.limits import Limits
from trimpoint.transport.wire import Dialect, encode_event, frame_lines

from tests.deadlines import STEP_S
from tests.http.stage import Wire

MIB = 1024 * 1024


@asynccontextmanager
async def stream(limits: Limits) -> AsyncIterator[tuple[Connection, Wire, anyio.Event]]:
    """Yields a connection that sends events, its reader, and an event that is set at its end."""
    ours, theirs = socket.socketpair()
    end, ended = SocketEnd(ours), anyio.Event()
    connection = event_connection(Transport(end, end, "a test"), limits)
    reader = await UNIXSocketStream.from_socket(theirs)
    with anyio.fail_after(STEP_S):
        async with reader, anyio.create_task_group() as tasks:

            async def run() -> None:
                await connection.run()
                ended.set()

            tasks.start_soon(run)
            yield connection, Wire(reader), ended
            tasks.cancel_scope.cancel()


def test_a_notification_becomes_an_event_with_its_sequence_as_id() -> None:
    line = b'{"jsonrpc":"2.0","method":"orchestration/event","params":{"sequence":7,\n"type":"x"}}'
    assert (
        encode_event(line)
        == b'event: orchestration/event\nid: 7\ndata: {"sequence":7, "type":"x"}\n\n'
    )
    assert encode_event(b'{"method":"m","params":{}}') == b"event: m\ndata: {}\n\n"


def test_lines_become_one_event_each() -> None:
    assert (
        frame_lines(b'{"method":"a","params":1}\n' * 2, Dialect.EVENT_STREAM)
        == b"event: a\ndata: 1\n\n" * 2
    )


async def test_an_event_for_many_readers_is_encoded_once() -> None:
    encoded: list[int] = []

    def encode() -> bytes:
        encoded.append(1)
        return b'{"method":"a","params":{}}'

    clients = Clients()
    async with stream(Limits()) as one, stream(Limits()) as other:
        Delivery("a", encode).to([clients.add(one[0]), clients.add(other[0])])
        for _, wire, _ in (one, other):
            assert await wire.event() == {"event": "a", "data": "{}"}
    assert encoded == [1]


async def test_a_reader_that_does_not_read_costs_its_limit_and_is_then_dropped() -> None:
    async with stream(Limits(max_outbox_bytes=MIB)) as (connection, wire, ended):
        begin(connection)
        while not ended.is_set():
            connection.send(b'{"method":"a","params":"%b"}' % (b"x" * 65_536))
            assert connection.queued_bytes <= MIB + 70_000
            await anyio.lowlevel.checkpoint()
        assert connection.dropped_because is not None
        assert (await wire.rest()).startswith(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        )


async def test_a_quiet_stream_shows_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "PING_S", 0.01)
    ours, theirs = socket.socketpair()
    end = SocketEnd(ours)
    connection = event_connection(Transport(end, end, "a test"), Limits())
    with anyio.fail_after(STEP_S):
        async with (
            await UNIXSocketStream.from_socket(theirs) as reader,
            anyio.create_task_group() as tasks,
        ):
            produced = anyio.Event()
            tasks.start_soon(event_stream.run, connection, produced.wait)
            assert (await reader.receive()).startswith(b": still here\n\n")
            await reader.aclose()
            # The reader has left, and what was begun is carried out all the same.
            produced.set()
