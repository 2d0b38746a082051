"""WebSocket in raw bytes: frames, sizes, pings and closes."""

import json
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.config.sections import LimitsSection
from trimpoint.http import websocket
from trimpoint.http.exchange import Request
from trimpoint.http.websocket import (
    UpgradeRefused,
    WebSocketWire,
    accept_upgrade,
    keep_alive,
    wants_upgrade,
)
from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.limits import Limits
from trimpoint.transport.wire import (
    CloseCode,
    Dialect,
    Ended,
    Reply,
    encode_text_frame,
    frame_lines,
)
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from tests.deadlines import STEP_S
from tests.http.frames import MIB, PING_INIT, close_code, frame, ignored, masked, message, opened
from tests.http.stage import KEY, Stage, Wire, staged


class TestFrames:
    @pytest.mark.codex
    async def test_text_is_a_message_and_is_answered_in_one_frame(self, stage: Stage) -> None:
        async with opened(stage) as wire:
            hello = {
                "id": 1,
                "method": "initialize",
                "params": {"clientInfo": {"name": "x", "version": "1"}},
            }
            await wire.stream.send(masked(json.dumps(hello).encode()))
            assert (await message(wire))["id"] == 1
            await wire.stream.send(masked(b'{"id":2,"method":"commands/list"}'))
            assert (await message(wire))["result"]["commands"]

    async def test_fragments_are_put_together(self, stage: Stage) -> None:
        async with opened(stage) as wire:
            parts = [PING_INIT[:5], PING_INIT[5:6], b"", PING_INIT[6:]]
            frames = [masked(part, 1 if n == 0 else 0, fin=n == 3) for n, part in enumerate(parts)]
            frames.insert(2, masked(b"between", 9))
            for one in frames:
                await wire.stream.send(one)
            assert await frame(wire) == (Opcode.PONG, b"between")
            assert (await message(wire))["id"] == 1

    @pytest.mark.parametrize("payload", [b"", b"{", b"\xff\xfe", b"hello", b"[" * 100_000])
    async def test_text_that_is_no_json_is_answered_as_on_the_socket(
        self, stage: Stage, payload: bytes
    ) -> None:
        async with opened(stage) as wire:
            await wire.stream.send(masked(payload))
            assert (await message(wire))["error"]["code"] == -32700
            await wire.stream.send(masked(PING_INIT))
            assert (await message(wire))["id"] == 1

    @pytest.mark.parametrize(
        ("sent", "code"),
        [
            (masked(b"\x00", 2), 1003),
            (b"\x81\x02{}", 1002),
            (masked(b"x", 3), 1002),
            (b"\xf1\x80\0\0\0\0", 1002),
            (masked(b"x", 0), 1002),
            (masked(b"x" * 126, 9), 1002),
            (masked(struct.pack(">H", 1000), 8), 1000),
            (masked(struct.pack(">H", 3), 8), 1002),
        ],
    )
    async def test_a_protocol_violation_is_closed_with_its_code(
        self, stage: Stage, sent: bytes, code: int
    ) -> None:
        async with opened(stage) as wire:
            await wire.stream.send(sent)
            assert await close_code(wire) == code
            assert await wire.rest() == b""

    async def test_a_close_without_a_code_is_answered_alike(self, stage: Stage) -> None:
        async with opened(stage) as wire:
            await wire.stream.send(masked(b"", 8))
            assert await frame(wire) == (Opcode.CLOSE, b"")
            assert await wire.rest() == b""


class TestSizes:
    async def test_a_message_of_the_largest_size_is_read_in_fragments(self, tmp_path: Path) -> None:
        size, count = 2 * MIB, 4
        whole = b'{"id":1,"method":"commands/list","params":"%b"}' % (b"x" * (size * count - 45))
        assert len(whole) == size * count
        async with (
            staged(tmp_path, LimitsSection(max_message_bytes=len(whole))) as stage,
            opened(stage) as wire,
        ):
            for n in range(count):
                part = whole[n * size :][:size]
                await wire.stream.send(masked(part, 1 if n == 0 else 0, fin=n == count - 1))
            assert (await message(wire))["id"] == 1

    @pytest.mark.parametrize(
        "head",
        [b"\x81\xff" + struct.pack(">Q", 16 * MIB + 1), b"\x81\xff" + struct.pack(">Q", 2**63 - 1)],
    )
    async def test_a_frame_beyond_the_limit_is_closed_with_1009_before_it_has_come(
        self, stage: Stage, head: bytes
    ) -> None:
        async with opened(stage) as wire:
            await wire.stream.send(head + b"\0\0\0\0" + b"x" * MIB)
            assert await close_code(wire) == 1009

    async def test_fragments_beyond_the_limit_are_closed_with_1009(self, tmp_path: Path) -> None:
        async with (
            staged(tmp_path, LimitsSection(max_message_bytes=1000)) as stage,
            opened(stage) as wire,
        ):
            await wire.stream.send(masked(b"x" * 600, fin=False) + masked(b"x" * 600, 0))
            assert await close_code(wire) == 1009


class TestEnds:
    async def test_a_client_that_introduces_itself_never_is_sent_away_with_1008(
        self, tmp_path: Path
    ) -> None:
        async with (
            staged(tmp_path, LimitsSection(handshake_deadline_s=0.2)) as stage,
            opened(stage) as wire,
        ):
            assert (await message(wire))["error"]["message"].startswith(
                "this client has not sent initialize"
            )
            assert await close_code(wire) == 1008

    async def test_the_daemons_end_is_reported_with_1012(self, tmp_path: Path) -> None:
        async with anyio.create_task_group() as tasks:
            leave, left = anyio.Event(), anyio.Event()
            stages: list[Stage] = []

            async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                async with staged(tmp_path) as stage:
                    stages.append(stage)
                    task_status.started()
                    await leave.wait()
                left.set()

            await tasks.start(run)
            async with opened(stages[0]) as wire:
                leave.set()
                assert await close_code(wire) == 1012
                await left.wait()

    async def test_a_client_that_vanishes_leaves_nothing(self, stage: Stage) -> None:
        async with opened(stage) as wire:
            await wire.stream.send(masked(b"half", fin=False)[:5])
        with anyio.fail_after(STEP_S):
            while len(stage.daemon.clients):
                await anyio.lowlevel.checkpoint()

    async def test_a_client_that_stopped_writing_is_let_go(self, stage: Stage) -> None:
        async with opened(stage) as wire:
            await wire.stream.send_eof()
            assert await wire.rest() == b""


class TestSlowClients:
    """A connection alone, on a pair of sockets."""

    @asynccontextmanager
    async def pair(
        self, limits: Limits
    ) -> AsyncGenerator[tuple[Connection, WebSocketWire, Wire, anyio.Event]]:
        ours, theirs = socket.socketpair()
        end, wire, ended = (
            SocketEnd(ours),
            WebSocketWire(ServerProtocol(state=State.OPEN)),
            anyio.Event(),
        )
        connection = Connection(Transport(end, end, "a test"), limits, ignored, wire)
        stream = await anyio.abc.UNIXSocketStream.from_socket(theirs)
        with anyio.fail_after(STEP_S):
            async with stream, anyio.create_task_group() as tasks:

                async def run() -> None:
                    await connection.run()
                    ended.set()

                tasks.start_soon(run)
                yield connection, wire, Wire(stream), ended
                tasks.cancel_scope.cancel()

    async def test_a_client_that_does_not_read_is_closed_with_1013_at_a_frames_end(self) -> None:
        limits = Limits(max_outbox_bytes=2 * MIB, close_grace_s=3600.0)
        async with self.pair(limits) as (connection, _, client, ended):
            for number in range(64):
                connection.send(json.dumps({"n": number, "x": "y" * 65_536}).encode())
                await anyio.lowlevel.checkpoint()
            assert connection.dropped_because is not None
            assert connection.queued_bytes < MIB
            numbers: list[int] = []
            while (one := await frame(client))[0] == Opcode.TEXT:
                numbers.append(json.loads(one[1])["n"])
            assert numbers == list(range(len(numbers)))
            assert struct.unpack(">H", one[1][:2])[0] == 1013
            await client.stream.aclose()
            await ended.wait()
            assert connection.closed_because == connection.dropped_because

    async def test_a_client_that_never_reads_is_freed_all_the_same(self) -> None:
        async with self.pair(Limits(max_outbox_bytes=MIB, close_grace_s=0.05)) as (
            connection,
            _,
            _,
            ended,
        ):
            for _ in range(64):
                connection.send(b'"' + b"x" * 65_536 + b'"')
            await ended.wait()

    async def test_a_silent_client_is_pinged_and_then_dropped(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(websocket, "PING_AFTER_S", 0.01)
        monkeypatch.setattr(websocket, "PONG_WITHIN_S", 0.05)
        async with self.pair(Limits(close_grace_s=0.01)) as (connection, wire, client, ended):
            await keep_alive(connection, wire)
            assert (await frame(client))[0] == Opcode.PING
            assert await close_code(client) == 1008
            await ended.wait()
            assert wire.ping() == b""

    async def test_a_client_that_answers_pings_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(websocket, "PING_AFTER_S", 0.01)
        monkeypatch.setattr(websocket, "PONG_WITHIN_S", 0.5)
        async with (
            self.pair(Limits()) as (connection, wire, client, _),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(keep_alive, connection, wire)
            for _ in range(2):
                assert (await frame(client))[0] == Opcode.PING
                await client.stream.send(masked(b"", 10))
            assert connection.closed_because is None
            tasks.cancel_scope.cancel()


class TestPure:
    @given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 40))
    def test_messages_do_not_depend_on_where_the_stream_was_cut(
        self, messages: list[bytes], step: int
    ) -> None:
        stream = b"".join(masked(one) for one in messages)
        wire = WebSocketWire(ServerProtocol(state=State.OPEN))
        received = [
            one for at in range(0, len(stream), step) for one in wire.feed(stream[at : at + step])
        ]
        assert received == messages

    @given(st.binary(max_size=200))
    def test_no_bytes_raise(self, data: bytes) -> None:
        wire = WebSocketWire(ServerProtocol(state=State.OPEN, max_size=1000))
        received = wire.feed(data)
        assert all(isinstance(one, bytes | Reply | Ended) for one in received)

    @given(
        st.binary(max_size=200).map(lambda text: text.replace(b"\n", b""))
        | st.integers(60_000, 70_000).map(bytes)
    )
    def test_a_frame_made_by_hand_is_that_of_the_library(self, text: bytes) -> None:
        assert encode_text_frame(text) == Frame(Opcode.TEXT, text).serialize(mask=False)

    def test_lines_become_one_frame_each(self) -> None:
        assert frame_lines(b"{}\n[]\n", Dialect.WEBSOCKET) == encode_text_frame(
            b"{}"
        ) + encode_text_frame(b"[]")

    def test_lines_become_one_frame_for_a_client_that_takes_them_so(self) -> None:
        lines = frame_lines(b"{}\n[]\n", Dialect.WEBSOCKET_LINES)
        assert lines == encode_text_frame(b"{}\n[]")

    def test_a_long_reason_fits_into_a_close_frame(self) -> None:
        wire = WebSocketWire(ServerProtocol(state=State.OPEN))
        assert len(wire.farewell(CloseCode.NORMAL, "ü" * 200)) == 2 + 2 + 122
        assert wire.farewell(CloseCode.NORMAL, "again") == b""
        assert isinstance(wire.eof()[-1], Ended)

    def test_upgrades_are_recognized_by_their_header(self) -> None:
        headers = {
            "host": "x",
            "upgrade": "WebSocket",
            "connection": "Upgrade",
            "sec-websocket-key": KEY,
        }
        request = Request("GET", "/", headers)
        assert wants_upgrade(request)
        with pytest.raises(UpgradeRefused) as refused:
            accept_upgrade(request, MIB, {})
        assert refused.value.response.status == 400
