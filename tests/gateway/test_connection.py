import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs
from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.gateway.transport.connection import (
    ClientMessage,
    Connection,
    Limits,
)
from trimpoint.streams.ends import SocketEnd, dup_nonblocking
from trimpoint.streams.reader import READ_CHUNK_BYTES
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.peer import Asked, Unreadable

from tests.deadlines import STEP_S

MIB = 1024 * 1024
# Tests end by events; this is only for those that would otherwise never end.
NEVER_S = 3600.0
PATIENT = Limits(half_close_grace_s=NEVER_S, close_grace_s=NEVER_S)


class Client:
    """The other end of a connection, in raw bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._unread = b""

    async def say(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def receive(self, size_bytes: int) -> bytes:
        while len(self._unread) < size_bytes:
            self._unread += await self._chunk()
        data, self._unread = self._unread[:size_bytes], self._unread[size_bytes:]
        return data

    async def message(self) -> Any:
        while b"\n" not in self._unread:
            self._unread += await self._chunk()
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    async def rest(self) -> bytes:
        while chunk := await self._loop.sock_recv(self._socket, MIB):
            self._unread += chunk
        return self._unread

    def stop_writing(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def vanish(self) -> None:
        self._socket.close()

    async def _chunk(self) -> bytes:
        chunk = await self._loop.sock_recv(self._socket, MIB)
        assert chunk, f"the connection ended after {self._unread[-200:]!r}"
        return chunk


@dataclass
class Recorder:
    """An `on_message` that keeps what it gets, and can be waited on."""

    got: list[ClientMessage] = field(default_factory=list[ClientMessage])
    _news: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, connection: Connection, message: ClientMessage) -> None:
        self.got.append(message)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, count: int) -> None:
        while len(self.got) < count:
            await self._news.wait()

    @property
    def methods(self) -> list[str]:
        methods: list[str] = []
        for one in self.got:
            match one:
                case Asked(request):
                    methods.append(request.method)
                case jsonrpc.Notification():
                    methods.append(one.method)
                case _:
                    pass
        return methods


def answer_everything(connection: Connection, message: ClientMessage) -> None:
    match message:
        case Asked(request):
            connection.answer(message, request.method)
        case Unreadable(problem):
            error = {"code": problem.code, "message": problem.message}
            connection.refuse(message, msgspec.json.encode(error))
        case _:
            pass


@dataclass
class Talk:
    client: Client
    connection: Connection
    ended: anyio.Event


@asynccontextmanager
async def connected(
    on_message: Callable[[Connection, ClientMessage], None] = answer_everything,
    limits: Limits = PATIENT,
) -> AsyncGenerator[Talk, None]:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        end = SocketEnd(ours)
        talk = Talk(
            Client(theirs),
            Connection(Transport(end, end, "a test"), limits, on_message),
            anyio.Event(),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, talk)
            with anyio.fail_after(STEP_S):
                yield talk
            tasks.cancel_scope.cancel()


async def _run(talk: Talk) -> None:
    await talk.connection.run()
    talk.ended.set()


def request(number: int, method: str = "m") -> bytes:
    return jsonrpc.encode_request(b"%d" % number, method, versioned=False) + b"\n"


async def test_requests_are_handed_on_and_answered_in_order() -> None:
    async with connected() as talk:
        await talk.client.say(b"".join(request(number, f"m{number}") for number in range(100)))
        answers = [await talk.client.message() for _ in range(100)]
    assert answers == [{"id": number, "result": f"m{number}"} for number in range(100)]


async def test_input_that_comes_byte_by_byte_is_the_same_input() -> None:
    text = b"".join(
        [
            b'\r\n {"id":1,"method":"a"} \r\n\n',
            b'[{"method":"b"},{"id":2,"method":"c"}]\n',
            b'{nonsense}\n{"method":"d"}\n',
        ]
    )
    whole, bytewise = Recorder(), Recorder()
    async with connected(whole) as talk:
        await talk.client.say(text)
        await whole.until(5)
    async with connected(bytewise) as talk:
        for at in range(len(text)):
            await talk.client.say(text[at : at + 1])
            await asyncio.sleep(0)
        await bytewise.until(5)
    assert bytewise.methods == whole.methods == ["a", "b", "c", "d"]
    assert [type(one) for one in bytewise.got] == [type(one) for one in whole.got]
    assert isinstance(whole.got[3], Unreadable)


async def test_garbage_is_answered_and_the_connection_lives_on() -> None:
    async with connected() as talk:
        await talk.client.say(b"\x00\xff\xfe garbage\n" + request(7))
        assert (await talk.client.message())["error"]["code"] == jsonrpc.PARSE_ERROR
        assert await talk.client.message() == {"id": 7, "result": "m"}


async def test_a_huge_message_arrives_whole_and_is_sent_whole() -> None:
    text = "x" * (10 * MIB)

    def echo(connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Asked)
        connection.answer(message, message.request.params)

    async with connected(echo) as talk:
        await talk.client.say(jsonrpc.encode_request(b"1", "echo", [text], versioned=False) + b"\n")
        assert (await talk.client.message())["result"] == [text]


@pytest.mark.parametrize("versioned", [False, True])
async def test_a_message_over_the_limit_is_refused_in_the_dialect_spoken_and_the_next_is_served(
    versioned: bool,
) -> None:
    first = jsonrpc.encode_request(b"1", "m", versioned=versioned) + b"\n"
    async with connected(limits=Limits(max_message_bytes=1000)) as talk:
        await talk.client.say(first)
        await talk.client.message()
        await talk.client.say(b'"' + b"x" * 5000 + b'"\n' + first)
        refusal = await talk.client.message()
        assert (await talk.client.message())["result"] == "m"
    assert refusal["id"] is None
    assert ("jsonrpc" in refusal) is versioned
    error = refusal["error"]
    assert error["code"] == -32010
    assert "5002" in error["message"]
    assert error["data"].keys() == {"reason", "retryable", "hint"}
    assert (error["data"]["reason"], error["data"]["retryable"]) == ("message_too_large", False)


async def test_a_content_length_client_is_answered_in_content_length() -> None:
    body = b'{"id":1,"method":"m"}'
    async with connected() as talk:
        for byte in b"Content-Length: %d\r\n\r\n" % len(body) + body:
            await talk.client.say(bytes([byte]))
        answer = b'{"id":1,"result":"m"}'
        expected = b"Content-Length: %d\r\n\r\n" % len(answer) + answer
        assert await talk.client.receive(len(expected)) == expected
        talk.connection.send_encoded_lines(b"{}\n[]\n")
        assert (
            await talk.client.receive(46)
            == b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]"
        )


async def test_broken_framing_is_answered_and_ends_the_connection() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(b'Content-Length: many\r\n\r\n{"method":"never"}')
        headers, _, body = (await talk.client.rest()).partition(b"\r\n\r\n")
        await talk.ended.wait()
    assert headers == b"Content-Length: %d" % len(body)
    error = json.loads(body)["error"]
    assert (error["code"], error["data"]["reason"]) == (jsonrpc.PARSE_ERROR, "parse_error")
    assert not recorder.got
    assert talk.connection.closed_because is not None
    assert "Content-Length" in talk.connection.closed_because


async def test_a_client_that_dies_in_the_middle_of_a_line_ends_quietly() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(request(1, "whole") + b'{"id":2,"meth')
        talk.client.vanish()
        await talk.ended.wait()
    assert recorder.methods == ["whole"]
    assert talk.connection.dropped_because is None


async def test_a_client_that_stopped_writing_still_gets_the_answers_it_is_owed() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(
            request(1) + b'[{"id":2,"method":"a"},{"id":3,"method":"b"}]\n{"cut off'
        )
        talk.client.stop_writing()
        await recorder.until(3)
        first, second, third = (one for one in recorder.got if isinstance(one, Asked))
        talk.connection.answer(first, 1)
        assert await talk.client.message() == {"id": 1, "result": 1}
        assert not talk.ended.is_set()
        talk.connection.answer(third, 3)
        talk.connection.answer(second, 2)
        assert await talk.client.rest() == b'[{"id":3,"result":3},{"id":2,"result":2}]\n'
        await talk.ended.wait()
    assert talk.connection.closed_because == "the client closed it"


async def test_a_client_that_stopped_writing_gets_a_long_answer_to_its_end() -> None:
    def answer_at_length(connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Asked)
        connection.answer(message, "x" * (8 * MIB))

    async with connected(answer_at_length) as talk:
        await talk.client.say(request(1))
        talk.client.stop_writing()
        assert len(await talk.client.rest()) == 8 * MIB + len(b'{"id":1,"result":""}\n')


async def test_a_client_that_stopped_writing_and_is_owed_nothing_is_let_go() -> None:
    async with connected(Recorder()) as talk:
        await talk.client.say(b'{"method":"a"}\n{"id":1,"result":1}\n')
        talk.client.stop_writing()
        assert await talk.client.rest() == b""
        await talk.ended.wait()


async def test_a_message_over_the_limit_is_refused_even_if_it_never_ends() -> None:
    async with connected(limits=Limits(max_message_bytes=100)) as talk:
        await talk.client.say(b"x" * 101)
        talk.client.stop_writing()
        assert json.loads(await talk.client.rest())["error"]["code"] == -32010


async def test_answers_that_never_come_are_not_waited_for_without_end() -> None:
    async with connected(Recorder(), Limits(half_close_grace_s=0.01)) as talk:
        await talk.client.say(request(1))
        talk.client.stop_writing()
        assert await talk.client.rest() == b""
        await talk.ended.wait()
    assert talk.connection.closed_because == "the client waited too long for its answers"


async def test_a_client_that_is_gone_altogether_is_not_waited_for() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(request(1))
        talk.client.vanish()
        await talk.ended.wait()
    assert recorder.methods == ["m"]


async def test_clients_that_speak_lines_share_one_encoded_message() -> None:
    line = b'{"method":"delta"}\n'
    sinks = [RecordingEnd() for _ in range(3)]
    connections = [
        Connection(Transport(sink, sink, ""), PATIENT, answer_everything) for sink in sinks
    ]
    for connection in connections:
        connection.send_encoded_lines(line)
    await asyncio.sleep(0)
    assert all(sink.written[0] is line for sink in sinks)


class RecordingEnd:
    def __init__(self, fd: int = 0) -> None:
        self.fd = fd
        self.written: list[bytes | memoryview] = []

    def fileno(self) -> int:
        return self.fd

    def read(self, max_bytes: int) -> bytes:
        raise BlockingIOError

    def write(self, data: bytes | memoryview) -> int:
        self.written.append(data)
        return len(data)

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


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
    """Tells when the end of the client's input was read."""

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
