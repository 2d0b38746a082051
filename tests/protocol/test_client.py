"""The client over a stream whose other side is the test: requests, inboxes, questions, the end."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import ByteStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from trimpoint_protocol.client import (
    Client,
    ClientInfo,
    Connection,
    ConnectionLost,
    DeadlinePassed,
    RemoteError,
    ServerRequest,
    connect,
    connect_stream,
    new_command_id,
    open_connection,
)
from trimpoint_protocol.commands import StopSession
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import METHODS, CommandProgress, Synchronized
from trimpoint_protocol.readmodel import EventEnvelope
from trimpoint_protocol.shapes.checkpoints import (
    CheckpointDiffParams,
    PruneParams,
    RevertPreviewParams,
)

from tests.deadlines import STEP_S


class MemoryStream:
    """A byte stream in memory; `other` is its other end."""

    def __init__(
        self,
        sent: MemoryObjectSendStream[bytes],
        received: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._sent = sent
        self._received = received

    async def send(self, item: bytes) -> None:
        await self._sent.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._received.receive()

    def close(self) -> None:
        self._sent.close()
        self._received.close()


class Server:
    """The daemon's end, played by the test."""

    def __init__(self, stream: MemoryStream) -> None:
        self._stream = stream
        self._buffered = b""

    async def read(self) -> dict[str, Any]:
        """Returns the next message of the client."""
        with anyio.fail_after(STEP_S):
            while b"\n" not in self._buffered:
                self._buffered += await self._stream.receive()
        line, _, self._buffered = self._buffered.partition(b"\n")
        message: dict[str, Any] = msgspec.json.decode(line)
        return message

    async def send(self, *messages: Any) -> None:
        await self._stream.send(b"".join(msgspec.json.encode(one) + b"\n" for one in messages))

    async def answer(self, method: str, result: Any) -> dict[str, Any]:
        """Answers the next request, which must be `method`; returns its parameters."""
        message = await self.read()
        assert message["method"] == method
        await self.send({"id": message["id"], "result": result})
        return dict(message.get("params") or {})

    def close(self) -> None:
        self._stream.close()


def stream_pair() -> tuple[MemoryStream, MemoryStream]:
    """Two ends of one stream."""
    to_server, from_client = anyio.create_memory_object_stream[bytes](100)
    to_client, from_server = anyio.create_memory_object_stream[bytes](100)
    return MemoryStream(to_server, from_server), MemoryStream(to_client, from_client)


@asynccontextmanager
async def conversation() -> AsyncGenerator[tuple[Connection, Server], None]:
    ours, theirs = stream_pair()
    try:
        with anyio.fail_after(STEP_S * 2):
            async with open_connection(ours) as connection:
                yield connection, Server(theirs)
    finally:
        ours.close()
        theirs.close()


@asynccontextmanager
async def initialized() -> AsyncGenerator[tuple[Client, Server], None]:
    ours, theirs = stream_pair()
    server = Server(theirs)
    try:
        with anyio.fail_after(STEP_S * 2):
            await server.send({"id": 1, "result": {"userAgent": "x/1", "codexHome": "/c"}})
            async with connect_stream(ClientInfo("test", "1"), ours) as client:
                assert (await server.read())["method"] == "initialize"
                assert await server.read() == {"method": "initialized"}
                yield client, server
    finally:
        ours.close()
        theirs.close()


async def test_a_request_returns_its_result_and_what_came_before_is_in_the_inbox() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        pending = connection.begin("a", {"x": 1})
        assert await server.read() == {"id": 1, "method": "a", "params": {"x": 1}}
        await server.send({"method": "note", "params": {"n": 1}}, {"id": 1, "result": [1]})
        assert await pending.result() == [1]
        assert pending.is_there
        assert len(inbox) == 1
        assert aiter(inbox) is inbox
        assert (await inbox.receive()).params == {"n": 1}
        assert await pending.result_as(list[int]) == [1]


async def test_a_refusal_is_raised_with_the_reason_of_the_daemon() -> None:
    async with conversation() as (connection, server):
        data = {"reason": "turn_in_progress", "retryable": True, "hint": "wait", "new": 1}
        await server.send({"id": 1, "error": {"code": -32013, "message": "busy", "data": data}})
        with pytest.raises(RemoteError, match="busy") as refused:
            await connection.request("a")
        assert refused.value.reason is Reason.TURN_IN_PROGRESS
        assert refused.value.hint == "wait"
        assert refused.value.data == data


@pytest.mark.parametrize("error", [{"code": 1, "message": "no"}, 1])
async def test_an_error_of_codex_has_no_reason(error: Any) -> None:
    async with conversation() as (connection, server):
        await server.send({"id": 1, "error": error})
        with pytest.raises(RemoteError) as refused:
            await connection.request("a")
        assert refused.value.reason is None
        assert refused.value.hint == ""


async def test_a_request_that_is_not_answered_in_time_is_given_up() -> None:
    async with conversation() as (connection, server):
        with pytest.raises(DeadlinePassed, match="slow was not answered within 0 s"):
            await connection.request("slow", deadline_s=0)
        assert (await server.read())["method"] == "slow"
        await server.send({"id": 1, "result": "late"}, {"id": 2, "result": "in time"})
        assert await connection.request("next", deadline_s=STEP_S) == "in time"


async def test_a_cancelled_request_leaves_whole_frames_on_the_stream() -> None:
    async with conversation() as (connection, server):
        with anyio.move_on_after(0):
            await connection.request("given-up", {"text": "x" * 100_000})
        connection.notify("after")
        assert (await server.read())["method"] == "given-up"
        assert (await server.read())["method"] == "after"


async def test_a_lost_connection_ends_requests_and_inboxes_and_refuses_what_follows() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        pending = connection.begin("a")
        await server.read()
        await server.send({"method": "last"})
        server.close()
        with pytest.raises(ConnectionLost, match="the daemon closed the connection"):
            await pending.result()
        assert (await inbox.receive()).method == "last"
        with pytest.raises(ConnectionLost):
            await inbox.receive()
        assert connection.is_lost
        with pytest.raises(ConnectionLost):
            connection.notify("b")
        with pytest.raises(ConnectionLost):
            await connection.listen().receive()
        await connection.flush()


async def test_an_inbox_has_what_it_was_opened_for_until_it_is_closed() -> None:
    async with conversation() as (connection, server):
        with connection.listen("a", "b", thread_id="t1") as inbox:
            await server.send(
                {"method": "a", "params": {"threadId": "t2"}},
                {"method": "c", "params": {"threadId": "t1"}},
                {"method": "a"},
                {"method": "b", "params": [1]},
                {"method": "a", "params": {"threadId": "t1", "n": 1}},
                {"method": "b", "params": {"thread": {"id": "t1"}, "n": 2}},
                {"method": "b", "params": {"eventId": "t1/7", "n": 3}},
                {"id": 1, "result": None},
            )
            await connection.request("x")
            assert [message.params["n"] for message in [await anext(inbox) for _ in range(3)]] == [
                1,
                2,
                3,
            ]
        await server.send({"method": "a", "params": {"threadId": "t1"}}, {"id": 2, "result": 0})
        await connection.request("x")
        assert len(inbox) == 0
        inbox.close()
        with pytest.raises(ConnectionLost):
            await inbox.receive()


async def test_the_first_wanted_message_is_waited_for() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.send, {"method": "a"}, {"method": "b"})
            found = await inbox.receive_first(lambda message: message.method == "b")
            assert repr(found) == "Notification('b', b'')"
            assert found.params == {}


async def test_a_question_is_answered_once_or_refused() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        await server.send(
            {"id": "q1", "method": "ask", "params": {"threadId": "t"}},
            {"id": "q2", "method": "ask"},
            {"id": [], "method": "no-id"},
        )
        first, second = await inbox.receive(), await inbox.receive()
        assert isinstance(first, ServerRequest)
        assert isinstance(second, ServerRequest)
        assert (first.id, first.thread_id) == ("q1", "t")
        first.answer({"decision": "accept"})
        first.answer({"decision": "decline"})
        first.refuse()
        second.refuse("not me")
        second.answer({})
        assert await server.read() == {"id": "q1", "result": {"decision": "accept"}}
        assert await server.read() == {"id": "q2", "error": {"code": -32601, "message": "not me"}}


async def test_unsent_messages_are_sent_at_the_end_of_the_block() -> None:
    ours, theirs = stream_pair()
    async with open_connection(ours) as connection:
        connection.notify("last words")
    assert await Server(theirs).read() == {"method": "last words"}
    ours.close()
    theirs.close()


async def test_an_error_of_the_block_is_raised_as_itself() -> None:
    with pytest.raises(ZeroDivisionError):
        async with conversation():
            raise ZeroDivisionError


async def test_a_client_introduces_itself_and_reads_who_serves_it() -> None:
    async with initialized() as (client, _):
        assert client.server.codex_home == "/c"
        assert client.server.platform_os == ""


async def test_a_turn_ends_with_its_own_completion() -> None:
    async with initialized() as (client, server):
        about = {"threadId": "t"}
        await server.send(
            {"id": 2, "result": {"turn": {"id": "u1"}}},
            {"method": "turn/completed", "params": {**about, "turn": {"id": "u0"}}},
            {"method": "item/agentMessage/delta", "params": {**about, "delta": "Hel"}},
            {"method": "item/agentMessage/delta", "params": {**about, "delta": "lo"}},
            {"method": "turn/completed", "params": {**about, "turn": {"id": "u1", "status": "s"}}},
        )
        async with client.turn("t", "say hello", model="m") as turn:
            assert "".join([piece async for piece in turn.text()]) == "Hello"
            assert await turn.wait() == {"id": "u1", "status": "s"}
        sent = (await server.read())["params"]
        assert sent == {
            "threadId": "t",
            "input": [{"type": "text", "text": "say hello"}],
            "model": "m",
        }


async def test_events_are_followed_from_the_answer_on_until_the_block_ends() -> None:
    async with initialized() as (client, server):
        event: dict[str, Any] = {
            "sequence": 5, "threadSequence": 1, "eventId": "t/1", "occurredAt": "", "commandId": None,
            "operationId": None, "type": "x", "payload": {},
        }  # fmt: skip
        await server.send(
            {"id": 2, "result": {"mode": "replay", "thread": None, "sequence": 4}},
            {"method": "orchestration/event", "params": event},
            {"method": "orchestration/synchronized", "params": {"threadId": "t", "sequence": 5}},
        )
        async with client.follow("t", after_sequence=4) as following:
            assert following.start.mode == "replay"
            assert aiter(following) is following
            first, second = await anext(following), await anext(following)
            assert isinstance(first, EventEnvelope)
            assert first.thread_id == "t"
            assert second == Synchronized(thread_id="t", sequence=5)
            assert (await server.read())["params"] == {
                "threadId": "t",
                "afterSequence": 4,
                "turns": None,
            }
        assert (await server.read())["method"] == "orchestration/unsubscribeThread"


async def test_a_lost_daemon_need_not_be_unsubscribed_from() -> None:
    async with initialized() as (client, server):
        await server.send({"id": 2, "result": {"mode": "replay", "thread": None, "sequence": 4}})
        async with client.follow("t") as following:
            server.close()
            with pytest.raises(ConnectionLost):
                await anext(following)


async def test_a_notification_is_read_as_its_declared_shape() -> None:
    async with initialized() as (client, server):
        inbox = client.listen("commands/progress")
        params = {
            "threadId": "t",
            "command": "clear",
            "phase": "ready",
            "message": "",
            "operationId": "o",
        }
        await server.send({"method": "commands/progress", "params": params})
        progress = (await inbox.receive()).read_as(CommandProgress)
        assert progress.phase == "ready"


STOP = StopSession(command_id="c", thread_id="t")
ASKS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "commands/list": lambda client: client.list_commands(),
    "commands/complete": lambda client: client.complete_command("/cl"),
    "commands/execute": lambda client: client.execute("/clear", "t", dry_run=True),
    "orchestration/dispatch": lambda client: client.dispatch(STOP),
    "orchestration/snapshot": lambda client: client.snapshot("t"),
    "context/messages/list": lambda client: client.context_messages("t"),
    "timeline/read": lambda client: client.timeline("t", expand="all", limit=3),
    "session/export": lambda client: client.export("t", pruned=True),
    "context/status": lambda client: client.context_status("t"),
    "checkpoint/list": lambda client: client.list_checkpoints("t"),
    "checkpoint/diff": lambda client: client.diff(CheckpointDiffParams(thread_id="t")),
    "checkpoint/preview": lambda client: client.preview_revert(RevertPreviewParams(thread_id="t")),
    "checkpoint/storage": lambda client: client.checkpoint_storage(),
    "checkpoint/prune": lambda client: client.prune_checkpoints(PruneParams()),
    "sidecar/status": lambda client: client.status(),
    "sidecar/metrics": lambda client: client.metrics(),
    "sidecar/loginUrl": lambda client: client.login_url(),
    "sidecar/shutdown": lambda client: client.shutdown(),
}


@pytest.mark.parametrize("method", ASKS)
async def test_each_function_asks_for_the_method_that_the_registry_describes(method: str) -> None:
    async with initialized() as (client, server):
        refusal = {"code": -32011, "message": "no", "data": {"reason": "thread_not_found"}}
        await server.send({"id": 2, "error": refusal})
        with pytest.raises(RemoteError) as refused:
            await ASKS[method](client)
        assert refused.value.reason is Reason.THREAD_NOT_FOUND
        asked = await server.read()
        assert asked["method"] == method
        msgspec.convert(asked.get("params") or {}, METHODS[method].params)


async def test_results_are_read_as_their_declared_shapes() -> None:
    listed = {"name": "clear", "usage": "", "summary": "", "details": ""}
    answers: dict[str, Any] = {
        "commands/list": {"commands": [listed]},
        "commands/complete": {"commands": []},
        "session/export": {"format": "markdown", "content": "# it"},
        "thread/start": {"thread": {"id": "t"}},
        "thread/resume": {"thread": {"id": "t"}},
    }

    async with initialized() as (client, server), anyio.create_task_group() as tasks:

        async def answer_all() -> None:
            for method, result in answers.items():
                await server.answer(method, result)

        tasks.start_soon(answer_all)
        assert [one.name for one in await client.list_commands()] == ["clear"]
        assert await client.complete_command("/x") == []
        assert await client.export("t") == "# it"
        assert await client.start_thread("/w", model="m") == "t"
        assert await client.resume_thread("t") == {"thread": {"id": "t"}}
        assert len(new_command_id()) == 36


async def test_a_client_can_wait_for_the_end_of_a_turn() -> None:
    async with initialized() as (client, server):
        await server.send(
            {"id": 2, "result": {"turn": {"id": "u"}}},
            {"method": "item/started", "params": {"threadId": "t"}},
            {"method": "turn/completed", "params": {"threadId": "t", "turn": {"id": "u"}}},
        )
        async with client.turn("t", [{"type": "text", "text": "a"}]) as turn:
            assert await turn.wait() == {"id": "u"}


async def test_without_a_named_socket_a_client_looks_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMPOINT_SOCKET", str(tmp_path / "named.sock"))
    with pytest.raises(OSError, match=r"named\.sock|No such file"):
        async with connect(ClientInfo("test", "1")):
            pass
    monkeypatch.delenv("TRIMPOINT_SOCKET")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    sockets: list[Path] = []
    (tmp_path / "trimpoint").mkdir()
    listener = await anyio.create_unix_listener(tmp_path / "trimpoint" / "trimpoint.sock")

    async def hang_up(stream: ByteStream) -> None:
        sockets.append(tmp_path)
        await stream.aclose()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        with pytest.raises(ConnectionLost):
            async with connect(ClientInfo("test", "1")):
                pass
        tasks.cancel_scope.cancel()
    assert sockets == [tmp_path]
