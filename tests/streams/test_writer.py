import asyncio
import socket
import tracemalloc
from collections.abc import Iterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.streams.ends import Sink
from trimpoint.streams.writer import WRITE_CHUNK_BYTES, DropRule, StreamWriter

from tests.deadlines import STEP_S

MIB = 1024 * 1024


class ScriptedSink:
    """Takes `room_bytes` and then no more; what `write` was given, and kept, is there to look
    at.
    """

    def __init__(self, fd: int, room_bytes: int = 1 << 60) -> None:
        self.fd = fd
        self.room_bytes = room_bytes
        self.writes: list[bytes | memoryview] = []
        self.taken = bytearray()
        self.is_finished = False

    def fileno(self) -> int:
        return self.fd

    def write(self, data: bytes | memoryview) -> int:
        if not self.room_bytes:
            raise BlockingIOError
        taken = data[: self.room_bytes]
        self.room_bytes -= len(taken)
        self.writes.append(data)
        self.taken += taken
        return len(taken)

    def finish(self) -> None:
        self.is_finished = True


class BrokenSink(ScriptedSink):
    def write(self, data: bytes | memoryview) -> int:
        raise BrokenPipeError(32, "Broken pipe")


class Watched:
    """A writer, and what it told its owner."""

    def __init__(self, sink: Sink, max_bytes: int = MIB) -> None:
        self.sent_calls = 0
        self.reasons: list[str] = []
        self.ended = anyio.Event()
        self.writer = StreamWriter(
            sink, on_sent=self._on_sent, on_end=self._on_end, drop_rule=DropRule(max_bytes)
        )

    def _on_sent(self) -> None:
        self.sent_calls += 1

    def _on_end(self, reason: str) -> None:
        self.reasons.append(reason)
        self.ended.set()


async def loop_turn() -> None:
    await asyncio.sleep(0)


@pytest.fixture
def writable_fd() -> Iterator[int]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours.fileno()


async def test_the_messages_of_one_turn_go_out_in_one_write_and_in_order(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd)
    watched = Watched(sink)
    for number in range(1000):
        watched.writer.append(b"%d\n" % number)
    assert not sink.writes
    await loop_turn()
    assert len(sink.writes) == 1
    assert sink.taken == b"".join(b"%d\n" % number for number in range(1000))
    assert watched.writer.queued_bytes == 0


async def test_a_lone_message_is_handed_on_without_a_copy(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd)
    line = b'{"method":"x"}\n'
    Watched(sink).writer.append(line)
    await loop_turn()
    assert sink.writes[0] is line


async def test_a_burst_is_on_its_way_before_its_turn_ends(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd)
    writer = Watched(sink).writer
    writer.append(b"a" * (WRITE_CHUNK_BYTES - 1))
    assert not sink.taken
    writer.append(b"b")
    assert len(sink.taken) == WRITE_CHUNK_BYTES


async def test_more_than_a_socket_holds_arrives_whole() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        ours.setblocking(False)
        watched = Watched(_SocketSink(ours), max_bytes=32 * MIB)
        message = bytes(range(256)) * (16 * MIB // 256)
        watched.writer.append(message)
        received = bytearray()
        with anyio.fail_after(STEP_S):
            while len(received) < len(message):
                received += await asyncio.get_running_loop().sock_recv(theirs, MIB)
        assert received == message
        assert not watched.reasons


class _SocketSink:
    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def write(self, data: bytes | memoryview) -> int:
        return self._socket.send(data)

    def finish(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)


async def test_beyond_its_bound_a_reader_is_dropped_with_a_reason(writable_fd: int) -> None:
    watched = Watched(ScriptedSink(writable_fd, room_bytes=10), max_bytes=100)
    watched.writer.append(b"x" * 110)
    await loop_turn()
    assert watched.writer.dropped_because is None
    watched.writer.append(b"y")
    assert watched.writer.dropped_because is not None
    assert "101 bytes wait" in watched.writer.dropped_because
    with anyio.fail_after(STEP_S):
        await watched.ended.wait()
    assert watched.reasons == [watched.writer.dropped_because]


async def test_a_dropped_reader_holds_no_memory_and_takes_nothing_more(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=0)
    watched = Watched(sink, max_bytes=100)
    watched.writer.append(b"x" * 101)
    sink.room_bytes = 1000
    watched.writer.append(b"y")
    await loop_turn()
    await loop_turn()
    assert watched.writer.queued_bytes == 0
    assert not sink.taken
    assert len(watched.reasons) == 1


async def test_a_burst_larger_than_the_bound_passes_if_it_is_read_meanwhile(
    writable_fd: int,
) -> None:
    sink = ScriptedSink(writable_fd)
    watched = Watched(sink, max_bytes=MIB)
    for _ in range(64):
        watched.writer.append(b"x" * (128 * 1024))
    await loop_turn()
    assert len(sink.taken) == 8 * MIB
    assert watched.writer.dropped_because is None


async def test_room_that_came_within_the_turn_is_used_before_anyone_is_dropped(
    writable_fd: int,
) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=0)
    watched = Watched(sink, max_bytes=MIB)
    watched.writer.append(b"x" * MIB)
    sink.room_bytes = 2 * MIB
    watched.writer.append(b"y")
    assert watched.writer.dropped_because is None
    assert sink.taken == b"x" * MIB + b"y"


async def test_a_stalled_reader_costs_its_bound_and_not_more(writable_fd: int) -> None:
    limit_bytes = 4 * MIB
    watched = Watched(ScriptedSink(writable_fd, room_bytes=0), max_bytes=limit_bytes)
    tracemalloc.start()
    try:
        for number in range(100_000):
            watched.writer.append(b"%0252d" % number)
            if number % 1000 == 0:
                await loop_turn()
        left_bytes, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert watched.writer.dropped_because is not None
    assert left_bytes < WRITE_CHUNK_BYTES
    assert limit_bytes / 2 < peak_bytes < limit_bytes + 3 * WRITE_CHUNK_BYTES


async def test_a_backlog_leaves_in_portions_so_that_others_get_their_turn(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=0)
    watched = Watched(sink, max_bytes=16 * MIB)
    for _ in range(16 * 4):
        watched.writer.append(b"x" * WRITE_CHUNK_BYTES)
    await loop_turn()
    sink.room_bytes = 16 * MIB
    seen_by_others: list[int] = []
    with anyio.fail_after(STEP_S):
        while watched.writer.queued_bytes:
            await loop_turn()
            seen_by_others.append(len(sink.taken))
    assert any(0 < taken < 16 * MIB for taken in seen_by_others)
    assert sink.taken == b"x" * (16 * MIB)


async def test_a_reader_that_is_gone_is_reported_in_a_turn_of_its_own(writable_fd: int) -> None:
    watched = Watched(BrokenSink(writable_fd))
    watched.writer.append(b"x" * WRITE_CHUNK_BYTES)
    assert not watched.reasons
    with anyio.fail_after(STEP_S):
        await watched.ended.wait()
    assert watched.reasons == ["the client is gone: Broken pipe"]
    assert watched.writer.dropped_because is None


async def test_on_sent_is_called_even_if_the_bytes_left_before_the_turn_ended(
    writable_fd: int,
) -> None:
    watched = Watched(ScriptedSink(writable_fd))
    watched.writer.append(b"x" * WRITE_CHUNK_BYTES)
    assert watched.sent_calls == 0
    await loop_turn()
    assert watched.sent_calls == 1


async def test_on_sent_is_not_called_while_nothing_leaves(writable_fd: int) -> None:
    watched = Watched(ScriptedSink(writable_fd, room_bytes=0))
    watched.writer.append(b"x")
    for _ in range(3):
        await loop_turn()
    assert watched.sent_calls == 0


async def test_closing_loses_what_is_unsent_and_calls_back_nothing(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd)
    watched = Watched(sink)
    watched.writer.append(b"x")
    watched.writer.close()
    watched.writer.close()
    watched.writer.append(b"y")
    await loop_turn()
    assert not sink.taken
    assert watched.writer.queued_bytes == 0
    assert not watched.reasons


async def test_flush_sends_without_waiting_for_the_turn(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd)
    writer = Watched(sink).writer
    writer.append(b"x")
    writer.flush()
    assert sink.taken == b"x"


@given(
    st.lists(st.one_of(st.binary(max_size=40), st.integers(0, 60)), max_size=60),
)
def test_bytes_are_written_in_order_whatever_the_portions(steps: list[bytes | int]) -> None:
    """A step is a message to send, or room that the reader makes."""

    async def scenario() -> tuple[bytes, bytes]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            sink = ScriptedSink(ours.fileno(), room_bytes=0)
            writer = Watched(sink, max_bytes=10_000).writer
            for step in [*steps, 10_000]:
                if isinstance(step, bytes):
                    writer.append(step)
                else:
                    sink.room_bytes += step
                    writer.flush()
            assert writer.queued_bytes == 0
            writer.close()
            return bytes(sink.taken), b"".join(step for step in steps if isinstance(step, bytes))

    taken, appended = asyncio.run(scenario())
    assert taken == appended


async def test_a_writer_without_a_drop_rule_keeps_all_that_its_reader_does_not_take(
    writable_fd: int,
) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=10)
    writer = StreamWriter(sink, on_end=_unexpected)
    for _ in range(8):
        writer.append(b"x" * MIB)
    await loop_turn()
    assert writer.queued_bytes == 8 * MIB - 10
    sink.room_bytes = 8 * MIB
    while writer.queued_bytes:
        await loop_turn()
    assert sink.taken == b"x" * (8 * MIB)


async def test_room_comes_when_the_reader_has_taken_enough(writable_fd: int) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=0)
    writer = StreamWriter(sink, on_end=_unexpected)
    writer.append(b"x" * 100)
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.room, 50)
            await loop_turn()
            sink.room_bytes = 40
            writer.flush()
            await loop_turn()
            assert tasks.cancel_scope.cancel_called is False
            assert writer.queued_bytes == 60
            sink.room_bytes = 60


async def test_finish_sends_what_waits_takes_no_more_and_finishes_the_sink(
    writable_fd: int,
) -> None:
    sink = ScriptedSink(writable_fd, room_bytes=1)
    writer = StreamWriter(sink, on_end=_unexpected)
    writer.append(b"ab")
    writer.finish()
    writer.append(b"c")
    assert not writer.is_open
    assert not sink.is_finished
    sink.room_bytes = 10
    with anyio.fail_after(STEP_S):
        while not sink.is_finished:
            await loop_turn()
    assert sink.taken == b"ab"


@pytest.mark.parametrize("end", ["finish", "close"])
async def test_the_end_of_a_writer_ends_the_wait_for_room(writable_fd: int, end: str) -> None:
    writer = StreamWriter(ScriptedSink(writable_fd, room_bytes=0), on_end=_unexpected)
    writer.append(b"x" * 100)
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.room, 50)
            await loop_turn()
            getattr(writer, end)()


def _unexpected(reason: str) -> None:
    raise AssertionError(reason)
