"""The client over a stream whose other side is the test: what it asks, follows and reads."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from trimpoint_protocol.client import (
    Client,
    ClientInfo,
    ConnectionLost,
    RemoteError,
    connect,
    new_command_id,
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
from trimpoint_protocol.shapes.stats import StatsParams

from tests.deadlines import STEP_S
from tests.protocol.conversations import initialized

SERVER = {"userAgent": "x/1", "codexHome": "/c"}


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
            assert len(following) == 0
            assert (await server.read())["params"] == {
                "threadId": "t",
                "afterSequence": 4,
                "turns": None,
                "entries": None,
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
    "stats/read": lambda client: client.stats(StatsParams()),
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


async def test_a_client_of_a_socket_is_introduced_and_leaves_at_the_end(tmp_path: Path) -> None:
    listener = await anyio.create_unix_listener(tmp_path / "t.sock")
    left = anyio.Event()

    async def answer(stream: ByteStream) -> None:
        async with stream:
            asked = msgspec.json.decode((await stream.receive()).partition(b"\n")[0])
            await stream.send(msgspec.json.encode({"id": asked["id"], "result": SERVER}) + b"\n")
            async for _ in stream:
                pass
            left.set()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        async with connect(ClientInfo("test", "1"), tmp_path / "t.sock") as client:
            assert client.server.codex_home == "/c"
        with anyio.fail_after(STEP_S):
            await left.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("home", ["mine", ""])
async def test_a_client_first_asks_for_the_codex_of_the_home_in_its_environment(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEX_HOME", home)
    listener = await anyio.create_unix_listener(tmp_path / "t.sock")
    asked: list[tuple[str, Any]] = []
    chosen = {"profile": "key", "pid": 1, "stateDir": "/s"}
    answers = {"sidecar/useProfile": chosen, "initialize": SERVER}

    async def serve(stream: ByteStream) -> None:
        async with stream:
            received = BufferedByteReceiveStream(stream)
            while len(asked) < 2:
                message = msgspec.json.decode(await received.receive_until(b"\n", 65536))
                asked.append((message["method"], message.get("params") or {}))
                if "id" in message:
                    answer = {"id": message["id"], "result": answers[message["method"]]}
                    await stream.send(msgspec.json.encode(answer) + b"\n")

    with anyio.fail_after(STEP_S):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            async with connect(ClientInfo("test", "1"), tmp_path / "t.sock") as client:
                assert client.server.codex_home == "/c"
            tasks.cancel_scope.cancel()
    methods, homes = zip(*((name, params.get("codexHome")) for name, params in asked), strict=True)
    if home:
        assert methods == ("sidecar/useProfile", "initialize")
        assert homes[0] == str(tmp_path / home)
    else:
        assert methods == ("initialize", "initialized")


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


async def test_a_shutdown_that_waits_tells_whether_the_daemon_stops() -> None:
    async with initialized() as (client, server):
        for number, stopping in ((2, False), (3, True)):
            await server.send({"id": number, "result": {"stopping": stopping}})
            assert await client.shutdown(when_idle=True) is stopping
            assert (await server.read())["params"] == {"whenIdle": True}
