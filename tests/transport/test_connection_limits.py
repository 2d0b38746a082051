"""Connections to clients that do not read, disconnect or fail."""

import asyncio
import json
import os
import socket
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs
from trimpoint.streams.ends import SocketEnd, dup_nonblocking
from trimpoint.streams.reader import READ_CHUNK_BYTES
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection, Limits
from trimpoint.transport.inbox import ClientMessage
from trimpoint_protocol.peer import Asked, Unreadable

from tests.deadlines import STEP_S
from tests.gateway.talks import (
    MIB,
    PATIENT,
    Recorder,
    RecordingEnd,
    answer_everything,
    connected,
    request,
)


async def test_a_stalled_reader_is_dropped_and_the_fast_ones_get_everything() -> None:
    limits = Limits(max_outbox_bytes=MIB)
    line = b"x" * 251 + b"\n"
    batch = line * 500
    async with (
        connected(limits=limits) as one,
        connected(limits=limits) as stalled,
        connected(limits=limits) as other,
    ):
        for _ in range(80):
            for _ in range(500):
                for talk in (one, stalled, other):
                    talk.connection.send_encoded_lines(line)
            assert stalled.connection.queued_bytes <= MIB
            assert await one.client.receive(len(batch)) == batch
            assert await other.client.receive(len(batch)) == batch
        await stalled.ended.wait()
        assert stalled.connection.dropped_because is not None
        assert stalled.connection.closed_because == stalled.connection.dropped_because
        assert not one.ended.is_set()
        assert not other.ended.is_set()


async def test_a_client_that_is_dropped_is_logged_with_what_waited_for_it() -> None:
    async with connected(limits=Limits(max_outbox_bytes=MIB)) as stalled:
        with capture_logs() as logs:
            while stalled.connection.dropped_because is None:
                stalled.connection.send_encoded_lines(b"x" * 1000 + b"\n")
        (dropped,) = [log for log in logs if log["event"] == "client_dropped"]
        assert (dropped["client"], dropped["max_outbox_bytes"]) == (stalled.connection.id, MIB)
        assert dropped["queued_bytes"] > MIB


async def test_a_client_that_asks_faster_than_it_reads_is_slowed_and_not_dropped() -> None:
    def answer_at_length(connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Asked)
        connection.answer(message, "x" * 10_000)

    count = 1000
    async with connected(answer_at_length, Limits(max_outbox_bytes=256 * 1024)) as talk:
        await talk.client.say(b"".join(map(request, range(count))))
        answers = [await talk.client.message() for _ in range(count)]
        assert talk.connection.dropped_because is None
    assert [answer["id"] for answer in answers] == list(range(count))


async def test_a_flood_of_tiny_messages_leaves_the_others_their_turn() -> None:
    handled = 0
    handled_when_others_ran: list[int] = []
    flood_ended = anyio.Event()
    count = READ_CHUNK_BYTES // 32

    def note(connection: Connection, message: ClientMessage) -> None:
        nonlocal handled
        if not handled:
            asyncio.get_running_loop().call_soon(lambda: handled_when_others_ran.append(handled))
        handled += 1
        if handled == count:
            flood_ended.set()

    async with connected(note) as talk:
        await talk.client.say(b'{"method":"x"}\n' * count)
        await flood_ended.wait()
    assert 0 < handled_when_others_ran[0] < 1000


async def test_a_handler_that_fails_ends_its_own_connection_only() -> None:
    def fail(connection: Connection, message: ClientMessage) -> None:
        raise RuntimeError("a defect")

    async with connected() as other, connected(fail) as talk:
        with capture_logs() as logs:
            await talk.client.say(request(1) + request(2))
            assert await talk.client.rest() == b""
            await talk.ended.wait()
        await other.client.say(request(3))
        assert (await other.client.message())["id"] == 3
    assert talk.connection.closed_because == "internal error"
    assert [log["event"] for log in logs if log["log_level"] == "error"] == ["message_not_handled"]


async def test_closing_delivers_what_was_queued_first() -> None:
    async with connected() as talk:
        talk.connection.send(b"x" * (4 * MIB))
        talk.connection.close("enough")
        talk.connection.send(b"too late")
        talk.connection.send_encoded_lines(b"too late\n")
        assert await talk.client.rest() == b"x" * (4 * MIB) + b"\n"
        await talk.ended.wait()
    assert talk.connection.closed_because == "enough"


async def test_closing_does_not_wait_for_ever_for_a_client_that_does_not_read() -> None:
    async with connected(limits=Limits(close_grace_s=0.01)) as talk:
        talk.connection.send(b"x" * (4 * MIB))
        talk.connection.close("enough")
        talk.connection.close("again")
        await talk.ended.wait()
    assert talk.connection.closed_because == "enough"


async def test_messages_behind_one_that_led_to_closing_are_not_handled() -> None:
    seen = Recorder()

    def close_at_once(connection: Connection, message: ClientMessage) -> None:
        seen(connection, message)
        assert isinstance(message, Asked)
        connection.answer(message, {})
        connection.close("enough")

    async with connected(close_at_once) as talk:
        await talk.client.say(request(1) + request(2))
        await talk.ended.wait()
    assert len(seen.got) == 1


async def test_the_last_words_of_a_cancelled_connection_arrive() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        end = SocketEnd(ours)
        connection = Connection(Transport(end, end, ""), PATIENT, answer_everything)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await asyncio.sleep(0)
            tasks.cancel_scope.cancel()
            connection.send(b"last words")
        assert theirs.recv(100) == b"last words\n"
        assert theirs.recv(100) == b""
    assert connection.closed_because == "the daemon ends it"


class EndOfInput(SocketEnd):
    """Is set when the end of the client's input was read."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.reached = anyio.Event()

    def read(self, max_bytes: int) -> bytes:
        data = super().read(max_bytes)
        if not data:
            self.reached.set()
        return data


async def test_a_client_that_left_while_it_was_owed_an_answer_is_noticed_when_it_is_written_to() -> (
    None
):
    ours, theirs = socket.socketpair()
    end = EndOfInput(ours)
    connection = Connection(Transport(end, end, ""), PATIENT, Recorder())
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            theirs.sendall(request(1))
            theirs.shutdown(socket.SHUT_WR)
            await end.reached.wait()
            assert connection.closed_because is None
            theirs.close()
            connection.send(b"anybody there?")
    assert connection.closed_because == "the client is gone: Broken pipe"


class BrokenEnd(RecordingEnd):
    def read(self, max_bytes: int) -> bytes:
        raise ConnectionResetError(104, "Connection reset by peer")


async def test_a_stream_that_breaks_while_it_is_read_ends_the_connection() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        end = BrokenEnd(ours.fileno())
        theirs.sendall(b"x")
        connection = Connection(Transport(end, end, ""), PATIENT, answer_everything)
        with anyio.fail_after(STEP_S):
            await connection.run()
    assert connection.closed_because == "the client is gone: Connection reset by peer"


async def test_each_connection_has_an_id_of_its_own_and_says_who_is_there() -> None:
    async with connected() as one, connected() as other:
        assert one.connection.id != other.connection.id
        assert one.connection.peer == "a test"


async def test_files_serve_as_a_stream_too(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(map(request, range(2000))))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("ab") as sink:
        transport = Transport(
            dup_nonblocking(source.fileno(), os.O_RDONLY),
            dup_nonblocking(sink.fileno(), os.O_WRONLY),
            "files",
        )
        with anyio.fail_after(STEP_S):
            await Connection(transport, PATIENT, answer_everything).run()
    answers = [json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()]
    assert answers == list(range(2000))


@pytest.mark.parametrize("can_be_reopened", [True, False])
@pytest.mark.linux("opens a pipe again")
def test_an_end_of_a_pipe_never_blocks(
    can_be_reopened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    if not can_be_reopened:
        monkeypatch.setattr(os, "open", refuse)
    readable_fd, writable_fd = os.pipe()
    end = dup_nonblocking(writable_fd, os.O_WRONLY)
    try:
        assert not os.get_blocking(end.fileno())
        # Others who hold the pipe, as far as that is possible, keep their own mode.
        assert os.get_blocking(writable_fd) is can_be_reopened
        end.write(b"x")
        assert os.read(readable_fd, 10) == b"x"
    finally:
        end.close()
        end.close()
        os.close(readable_fd)
        os.close(writable_fd)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'{"id":1,"method":"m"}', True),
        (b'{"method":"m"}', False),
        (b'{"id":1,"result":1}', False),
        (b'{"id":1,"error":{}}', False),
        (b"nonsense", True),
        (b'{"id":1,"result":1,"error":{}}', False),
        (b'[{"method":"m"},{"id":1,"result":1}]', False),
        (b'[{"method":"m"},{"id":1,"method":"m"}]', True),
        (b"[]", True),
    ],
)
async def test_a_client_that_stopped_writing_is_kept_only_while_it_is_owed_an_answer(
    text: bytes, wanted: bool
) -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(text + b"\n")
        talk.client.stop_writing()
        await recorder.until(1)
        if wanted:
            for _ in range(20):
                await asyncio.sleep(0)
            assert not talk.ended.is_set()
            for one in recorder.got:
                if isinstance(one, Asked | Unreadable):
                    talk.connection.refuse(one, b"{}")
        await talk.ended.wait()
