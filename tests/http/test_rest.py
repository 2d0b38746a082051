"""REST and server-sent events on a real thread, with the real Codex and a scripted model."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.http.rest.command_body import CommandBody, NoSuchMember, typed
from trimpoint.testkit import ModelRequest, Reply, say
from trimpoint_protocol.client.unix import connect_unix

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.http.stage import Answer, Wire

pytestmark = pytest.mark.codex

AS_JSON = {"Content-Type": "application/json"}
AS_EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with opened_harness() as opened:
        yield opened


@pytest.fixture
async def talk(harness: Harness) -> AsyncIterator[Conversation]:
    with anyio.fail_after(SCENARIO_S):
        async with harness.conversation() as conversation:
            yield conversation


@asynccontextmanager
async def wire_to(harness: Harness) -> AsyncIterator[Wire]:
    async with await connect_unix(harness.socket) as stream:
        yield Wire(stream)


async def get(harness: Harness, path: str, headers: dict[str, str] | None = None) -> Answer:
    async with wire_to(harness) as wire:
        return await wire.ask("GET", path, headers)


async def post(
    harness: Harness, path: str, body: Any, headers: dict[str, str] | None = None
) -> Answer:
    async with wire_to(harness) as wire:
        return await wire.ask(
            "POST", path, {**AS_JSON, **(headers or {})}, json.dumps(body).encode()
        )


async def test_threads_and_their_views_are_those_of_the_methods(
    harness: Harness, talk: Conversation
) -> None:
    await talk.turn()
    thread = f"/api/v1/threads/{talk.thread_id}"
    for path, method, member in (
        (thread, "orchestration/snapshot", "thread"),
        (f"{thread}/timeline?limit=1", "timeline/read", None),
        (f"{thread}/context", "context/status", None),
        ("/api/v1/stats", "stats/read", None),
        ("/api/v1/stats?limit=1", "stats/read", None),
    ):
        of_thread = {} if method == "stats/read" else {"threadId": talk.thread_id}
        params = of_thread | ({"limit": 1} if "limit" in path else {})
        expected = await talk.client.request(method, **params)
        answer = await get(harness, path)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json() == (expected[member] if member else expected)
    [listed] = (await get(harness, "/api/v1/threads")).json()["threads"]
    assert listed["id"] == talk.thread_id


async def test_several_requests_go_over_one_connection(
    harness: Harness, talk: Conversation
) -> None:
    async with wire_to(harness) as wire:
        for _ in range(3):
            assert (await wire.ask("GET", "/api/v1/commands")).status == 200
        head = await wire.ask("HEAD", "/api/v1/commands")
        assert (head.status, head.body) == (200, b"")
        assert (await wire.ask("POST", "/api/v1/commands/help", AS_JSON, b"{}")).status == 200


async def test_the_seeds_bodies_are_understood(harness: Harness, talk: Conversation) -> None:
    await talk.turn()
    done = await post(
        harness, "/api/v1/commands/compact", {"session_id": talk.thread_id, "force": True}
    )
    assert (done.status, done.json()["status"], done.json()["summary"]) == (
        200,
        "completed",
        "The gist of it all.",
    )
    every = await post(harness, "/api/v1/commands/help", {})
    assert {one["name"] for one in every.json()["commands"]} >= {"clear", "compact", "revert"}
    one = await post(harness, "/api/v1/commands/help", {"command": "compact"})
    assert [one["name"] for one in one.json()["commands"]] == ["compact"]
    assert (await post(harness, "/api/v1/commands/help", {"command": "nothing"})).status == 404


def typed_as(name: str, **members: Any) -> str:
    return typed(REGISTRY[name], msgspec.convert(members, CommandBody))


def test_the_arguments_of_a_command_have_names_in_the_body() -> None:
    assert typed_as("clear", keep=3, dryRun=True) == "/clear 3 --dry-run"
    assert typed_as("compact", guidance="the  names", keep=0, force=False) == (
        "/compact --keep 0 the  names"
    )
    assert typed_as("pin", turns=[3, 5], note="the rules") == "/pin 3 5 the rules"
    assert typed_as("new", pins=True) == "/new --pins"
    assert typed_as("unpin", pins=[2]) == "/unpin 2"
    assert typed_as("revert", args="4 --context", force=True) == "/revert --force 4 --context"
    with pytest.raises(NoSuchMember, match="redo, target"):
        typed_as("clear", redo=True, target="50k")


async def test_a_member_that_the_command_does_not_take_is_refused(
    harness: Harness, talk: Conversation
) -> None:
    body = {"threadId": talk.thread_id, "dryRun": True}
    refused = await post(harness, "/api/v1/commands/pin", body)
    assert refused.status == 400
    assert refused.json()["detail"] == "/pin has no dryRun."


async def test_a_command_streams_its_progress_and_then_its_result(
    harness: Harness, talk: Conversation
) -> None:
    for _ in range(2):
        await talk.turn()
    body = json.dumps({"threadId": talk.thread_id, "args": "1"}).encode()
    async with wire_to(harness) as wire:
        answer = await wire.ask("POST", "/api/v1/commands/clear", {**AS_JSON, **AS_EVENTS}, body)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        events = [await wire.event()]
        while events[-1]["event"] != "result":
            events.append(await wire.event())
        assert await wire.rest() == b""
    phases = [json.loads(event["data"])["phase"] for event in events[:-1]]
    assert {event["event"] for event in events[:-1]} == {"commands/progress"}
    assert phases[-1] == "ready"
    assert json.loads(events[-1]["data"])["status"] == "completed"


async def test_failures_are_answered_as_problem_details(
    harness: Harness, talk: Conversation
) -> None:
    release, asked = anyio.Event(), anyio.Event()

    async def slowly(request: ModelRequest) -> Reply:
        asked.set()
        await release.wait()
        return say("at last")

    harness.script.then(slowly)
    await talk.client.request(
        "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "go"}]
    )
    await asked.wait()
    refused = await post(harness, "/api/v1/commands/compact", {"threadId": talk.thread_id})
    release.set()
    assert refused.headers["content-type"] == "application/problem+json"
    told = refused.json()
    assert refused.status == told["status"] == 409
    assert told["reason"] == "turn_in_progress"
    assert told["retryable"]
    assert told["blocker"]["kind"] == "turn"
    assert "interrupt" in told["hint"]


@pytest.mark.each_case(reason="each row is another rule")
@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "reason"),
    [
        ("GET", "/api/v1/threads/none", None, {}, 404, "thread_not_found"),
        ("GET", "/api/v1/threads/none/events", None, {}, 404, "thread_not_found"),
        ("GET", "/api/v1/threads/none/timeline?limit=x", None, {}, 400, "invalid_params"),
        ("GET", "/api/v1/threads/none/timeline?limit=0", None, {}, 400, "invalid_params"),
        ("GET", "/api/v1/threads/none/events?after=x", None, {}, 400, "invalid_params"),
        ("GET", "/nothing", None, {}, 404, "not_found"),
        ("PUT", "/api/v1/threads", b"{}", AS_JSON, 405, "method_not_allowed"),
        ("POST", "/api/v1/commands/dance", b"{}", AS_JSON, 404, "not_found"),
        ("POST", "/api/v1/commands/clear", b"{}", AS_JSON, 400, "usage"),
        ("POST", "/api/v1/commands/clear", b'{"args":"many"}', AS_JSON, 400, "usage"),
        ("POST", "/api/v1/commands/clear", b"{", AS_JSON, 400, "invalid_params"),
        ("POST", "/api/v1/commands/clear", b"[" * 100_000, AS_JSON, 400, "invalid_params"),
        ("POST", "/api/v1/commands/clear", b'{"what":1}', AS_JSON, 400, "invalid_params"),
        ("POST", "/api/v1/commands/clear", b"a=1", {"Content-Type": "text/plain"}, 415, "body_not_json"),
        ("POST", "/api/v1/threads/none/dispatch", b'{"type":"Dance"}', AS_JSON, 400, "invalid_params"),
        ("POST", "/api/v1/commands/clear", b"x" * (1024 * 1024 + 1), AS_JSON, 413, "body_too_large"),
    ],
)  # fmt: skip
async def test_an_invalid_rest_request_is_refused_with_a_reason(
    harness: Harness,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
    status: int,
    reason: str,
) -> None:
    async with harness.daemon(), wire_to(harness) as wire:
        answer = await wire.ask(method, path, headers, body)
    told = answer.json()
    assert (answer.status, told["status"], told["reason"]) == (status, status, reason)
    assert told["title"]


async def test_a_request_over_http_may_be_no_larger_than_over_the_socket(
    harness: Harness, talk: Conversation
) -> None:
    command = {"type": "thread.context.trim", "many": [[]] * 30_000}
    answer = await post(harness, f"/api/v1/threads/{talk.thread_id}/dispatch", command)
    assert answer.json()["reason"] == "message_too_large"


async def test_a_dispatched_command_is_answered_once_it_is_durable(
    harness: Harness, talk: Conversation
) -> None:
    await talk.turn()
    path = f"/api/v1/threads/{talk.thread_id}/dispatch"
    answer = await post(harness, path, {"type": "thread.context.trim", "keepLastNTurns": 0})
    assert answer.status == 200, answer.body
    assert answer.json()["operationId"]


class TestEvents:
    async def test_a_stream_begins_with_a_snapshot_and_continues_live(
        self, harness: Harness, talk: Conversation
    ) -> None:
        await talk.turn()
        async with wire_to(harness) as wire:
            await wire.ask("GET", f"/api/v1/threads/{talk.thread_id}/events")
            first, second = await wire.event(), await wire.event()
            assert (first["event"], second["event"]) == ("snapshot", "orchestration/synchronized")
            assert json.loads(first["data"])["thread"]["id"] == talk.thread_id
            await talk.turn()
            live = await wire.event()
        assert live["event"] == "orchestration/event"
        assert int(live["id"]) > int(second["id"])

    async def test_a_replay_has_neither_gap_nor_repeat_wherever_it_was_cut(
        self, harness: Harness, talk: Conversation
    ) -> None:
        path = f"/api/v1/threads/{talk.thread_id}/events"
        async with wire_to(harness) as whole:
            await whole.ask("GET", path)
            start = (await whole.event())["id"]
            await whole.event()
            await talk.turn()
            await talk.turn()
            await talk.client.request("commands/execute", text="/clear 1", threadId=talk.thread_id)
            end = str(
                (await talk.client.request("orchestration/snapshot", threadId=talk.thread_id))[
                    "thread"
                ]["sequence"]
            )
            ids = [(await whole.event())["id"]]
            while ids[-1] != end:
                ids.append((await whole.event())["id"])
        assert len(ids) == len(set(ids))
        for cut, last in enumerate([start, *ids]):
            async with wire_to(harness) as wire:
                await wire.ask("GET", path, {"Last-Event-ID": last})
                again = []
                while (event := await wire.event())["event"] == "orchestration/event":
                    again.append(event["id"])
            assert again == ids[cut:]
            assert (event["event"], event["id"]) == ("orchestration/synchronized", end)

    async def test_a_client_that_was_away_too_long_begins_anew(
        self, harness: Harness, talk: Conversation
    ) -> None:
        await talk.turn()
        async with wire_to(harness) as wire:
            await wire.ask("GET", f"/api/v1/threads/{talk.thread_id}/events?after=99999999")
            assert (await wire.event())["event"] == "snapshot"

    async def test_a_stream_that_its_client_left_is_forgotten(
        self, harness: Harness, talk: Conversation
    ) -> None:
        async with wire_to(harness) as wire:
            await wire.ask("GET", f"/api/v1/threads/{talk.thread_id}/events")
            await wire.event()
            assert (await talk.client.request("sidecar/status"))["clients"] == 2
        with anyio.fail_after(STEP_S):
            while (await talk.client.request("sidecar/status"))["clients"] > 1:
                await anyio.lowlevel.checkpoint()


def test_problem_details_have_no_empty_members() -> None:
    from trimpoint.http.problems import HttpReason, problem

    told = msgspec.json.decode(msgspec.json.encode(problem(HttpReason.NOT_FOUND, "Nothing.")))
    assert told == {
        "title": "Not Found",
        "status": 404,
        "detail": "Nothing.",
        "reason": "not_found",
    }
