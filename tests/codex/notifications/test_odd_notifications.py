"""A notification with a member of unknown form still yields its fact."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import anyio
import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.history.rollout import NO_ITEMS
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.provider_compactions import ProviderCompactions
from trimpoint.codex.notifications.translate import translate
from trimpoint.codex.notifications.watches import TurnWatch
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.operations.history.adoption import turn_facts
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.routing.sub_agents import SubAgents
from trimpoint.operations.routing.thread_messages import rests
from trimpoint.threads.registry import ThreadRegistry
from trimpoint_protocol.lenient import as_dict, as_list

from tests.codex.notifications.routing import Listener, say, without_delay
from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin

ODD: list[Any] = [None, True, 7, -1.5, "odd", "", [], [7], {}, {"odd": [1]}]
ERROR = {"message": "boom", "codexErrorInfo": "other", "additionalDetails": None}
COUNTS = {
    "totalTokens": 5,
    "inputTokens": 4,
    "cachedInputTokens": 1,
    "outputTokens": 1,
    "reasoningOutputTokens": 0,
}
TURN: dict[str, Any] = {
    "id": "t",
    "items": [],
    "itemsView": "notLoaded",
    "status": "failed",
    "error": ERROR,
    "startedAt": 1,
    "durationMs": 2,
}
TEXT: dict[str, Any] = {"type": "text", "text": "go", "text_elements": []}
ITEMS: list[dict[str, Any]] = [
    {"type": "userMessage", "id": "i", "clientId": None, "content": [TEXT]},
    {"type": "agentMessage", "id": "i", "text": "done"},
    {"type": "commandExecution", "id": "i", "command": "ls"},
    {"type": "fileChange", "id": "i", "changes": [{"path": "a"}]},
    {"type": "reasoning", "id": "i", "summary": ["hm"]},
    {"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t"},
    {"type": "webSearch", "id": "i", "query": "q"},
    {"type": "plan", "id": "i", "text": "p"},
]
RAW_MESSAGE = {
    "type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}],
    "internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.x"]},
}  # fmt: skip
# Method, parameters, and the members without which there is no fact.
SAMPLES: list[tuple[str, dict[str, Any], set[tuple[Any, ...]]]] = [
    ("turn/started", {"turn": TURN}, {("turn",), ("turn", "id")}),
    ("turn/completed", {"turn": TURN}, {("turn",), ("turn", "id")}),
    *[("item/completed", {"turnId": "t", "item": item}, {("turnId",), ("item",)}) for item in ITEMS],
    ("rawResponseItem/completed", {"turnId": "t", "item": RAW_MESSAGE}, {("turnId",), ("item",)}),
    ("thread/tokenUsage/updated", {"turnId": "t", "tokenUsage": {"last": COUNTS, "total": {**COUNTS}, "modelContextWindow": 9}},
        {("tokenUsage",), ("tokenUsage", "last"), ("tokenUsage", "last", "totalTokens")}),
]  # fmt: skip
ENDINGS = {"completed", "interrupted", "failed"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path to every member of a message, at every depth."""
    entries: list[tuple[Any, Any]] = [*as_dict(value).items(), *enumerate(as_list(value))]
    for key, member in entries:
        yield (*path, key)
        yield from places(member, (*path, key))


def with_odd(message: dict[str, Any], path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    changed = deepcopy(message)
    owner: Any = changed
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = odd
    return changed


def odd_ones() -> Iterator[Any]:
    for method, params, needed in SAMPLES:
        for path in places(params):
            if path not in needed:
                yield pytest.param(method, params, path, id=f"{method}:{'.'.join(map(str, path))}")


@pytest.mark.parametrize(("method", "params", "path"), list(odd_ones()))
def test_an_odd_detail_takes_no_fact_along(
    method: str, params: dict[str, Any], path: tuple[Any, ...]
) -> None:
    for odd in ODD:
        changed = with_odd(params, path, odd)
        [fact] = translate(CodexMessage.compose(method, {"threadId": "T", **changed}), 1, b"{}")
        [plain] = translate(CodexMessage.compose(method, {"threadId": "T", **params}), 1, b"{}")
        assert type(fact) is type(plain)
        if path != ("turnId",):
            assert getattr(fact, "turn_id", None) == "t"
        if isinstance(fact, ev.TurnCompleted):
            assert fact.status in ENDINGS


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("completed", None, ("completed", None, "")),
        ("interrupted", None, ("interrupted", None, "")),
        (None, None, ("completed", None, "")),
        (None, ERROR, ("failed", "boom", "other")),
        ("failed", "boom", ("failed", "boom", "")),
        ("failed", {"message": 7, "codexErrorInfo": [1]}, ("failed", "", "")),
        ("failed", [1, 2], ("failed", "[1,2]", "")),
        (
            "cancelled",
            None,
            ("failed", 'Codex ended the turn with a status that is not known: "cancelled".', ""),
        ),
        ({"type": "failed"}, ERROR, ("failed", "boom", "other")),
        (
            "inProgress",
            None,
            ("failed", 'Codex ended the turn with a status that is not known: "inProgress".', ""),
        ),
    ],
)
def test_a_turn_ends_as_far_as_its_end_can_be_read(
    status: Any, error: Any, expected: tuple[str, str | None, str]
) -> None:
    turn = {"id": "t", "status": status, "error": error}
    [ended] = translate(
        CodexMessage.compose("turn/completed", {"threadId": "T", "turn": turn}), 1, b"{}"
    )
    assert isinstance(ended, ev.TurnCompleted)
    assert (ended.status, ended.error, ended.error_kind) == expected
    if status != "inProgress":  # a turn that is read back may run
        *_, read_back = turn_facts(turn, 1, NO_ITEMS)
        assert isinstance(read_back, ev.TurnCompleted)
        assert (read_back.status, read_back.error, read_back.error_kind) == expected


@pytest.mark.parametrize(("method", "params"), [
    ("turn/completed", {"turn": {"id": 7}}), ("turn/completed", {"turn": None}), ("turn/completed", {}),
    ("item/completed", {"turnId": "t", "item": "odd"}), ("rawResponseItem/completed", {"turnId": "t", "item": 7}),
    ("thread/tokenUsage/updated", {"turnId": "t", "tokenUsage": {"last": {"totalTokens": "many"}}}),
    ("thread/settings/updated", {"threadSettings": 7}), ("thread/name/updated", {"threadName": 7}),
])  # fmt: skip
def test_a_notification_without_what_it_is_about_is_no_fact(
    method: str, params: dict[str, Any]
) -> None:
    with pytest.raises(msgspec.MsgspecError):
        translate(CodexMessage.compose(method, {"threadId": "T", **params}), 1, b"{}")


@pytest.mark.parametrize("path", [path for path in places({"turn": TURN}) if path != ("turn",)])
def test_a_watched_turn_ends_whatever_its_details_are(path: tuple[Any, ...]) -> None:
    for odd in ODD:
        watch = TurnWatch()
        watch.on_message(CodexMessage.compose("turn/started", {"turn": {"id": "t"}}))
        watch.on_message(
            CodexMessage.compose("turn/completed", with_odd({"turn": TURN}, path, odd))
        )
        assert watch.has_ended


def test_a_watched_turn_ends_without_saying_which_it_is() -> None:
    for turn in ODD:
        watch = TurnWatch()
        watch.on_message(CodexMessage.compose("turn/started", {"turn": turn}))
        watch.on_message(CodexMessage.compose("item/completed", {"item": turn}))
        watch.on_message(CodexMessage.compose("error", {"error": turn}))
        watch.on_message(CodexMessage.compose("turn/completed", {"turn": turn}))
        assert watch.has_ended


def test_an_odd_role_takes_no_item_along() -> None:
    compactions = ProviderCompactions()
    compactions.is_compaction_reply(
        "p", CodexMessage.compose("item/started", {"item": {"type": "contextCompaction"}})
    )
    for odd in ODD:
        item = {"item": {"type": odd, "role": odd}}
        message = CodexMessage.compose("rawResponseItem/completed", item)
        assert compactions.is_compaction_reply("p", message)


@asynccontextmanager
async def heard(listener: Listener) -> AsyncGenerator[tuple[ThreadRegistry, NotificationRouter]]:
    """Yields a registry with a thread whose turn `t` is running, and a router whose sink is
    `listener`.
    """
    disk = Disk()
    async with (
        ThreadRegistry.running(Store(disk), Policy()) as registry,
        anyio.create_task_group() as tasks,
    ):
        writer = await begin(registry)
        writer.record_facts(ev.TurnStarted("t", 1))
        with anyio.fail_after(STEP_S):
            yield registry, NotificationRouter(registry, listener, without_delay, tasks)


async def test_a_turn_with_an_odd_end_leaves_the_thread_free() -> None:
    listener = Listener()
    async with heard(listener) as (registry, router):
        say(
            router,
            "turn/completed",
            turn={"id": "t", "status": {"type": "failed"}, "error": "boom"},
        )
        await listener.hears(1)
        assert (await registry.thread(THREAD)).state.running_turn_id is None


async def test_a_sub_agent_is_known_by_what_can_be_read_of_it() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await begin(registry)
        agents = SubAgents(registry)
        item = {"type": "collabAgentToolCall", "receiverThreadIds": [7, None, "sub"]}
        agents.on_parent_item(THREAD, CodexMessage.compose("item/completed", {"item": item}))
        for status in ({"type": "active", "activeFlags": 7}, "active"):
            agents.on_foreign_notification(
                "sub", CodexMessage.compose("thread/status/changed", {"status": status})
            )
            assert list(writer.state.pending_requests) == ["sub"]
        for odd in ODD:
            agents.on_foreign_notification(
                "sub", CodexMessage.compose("thread/status/changed", {"status": odd})
            )
        assert list(writer.state.pending_requests) == []


class Fragile(Listener):
    """A client sink that fails at one notification."""

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        super().publish(thread_id, message)
        if b"fragile" in message.line:
            raise RuntimeError("a defect in who hears it")


async def test_a_notification_that_cannot_be_passed_on_stops_no_other() -> None:
    fragile = Fragile()
    async with heard(fragile) as (_, router):
        say(router, "turn/completed", turn={"id": "t", "status": "completed", "error": "fragile"})
        say(router, "warning", message="after it")
        assert await fragile.hears(2) == ["turn/completed", "warning"]


def test_a_status_of_any_shape_is_read() -> None:
    for odd in ODD:
        for status in (odd, {"type": odd}):
            params = {"threadId": "p", "status": status}
            assert not rests(CodexMessage.compose("thread/status/changed", params))


def test_a_count_that_no_record_can_hold_is_left_out() -> None:
    counts = b'{"last":{"totalTokens":5},"total":{"totalTokens":%d},"modelContextWindow":%d}'
    params = b'{"threadId":"T","turnId":"t","tokenUsage":%b}' % (counts % (2**70, 2**70))
    [usage] = translate(CodexMessage("thread/tokenUsage/updated", Raw(params)), 1, b"{}")
    assert isinstance(usage, ev.UsageReported)
    assert (usage.last_total, usage.window) == (5, None)
    assert msgspec.json.encode(usage)


def test_a_thread_id_that_is_no_text_names_no_thread() -> None:
    params = b'{"threadId":"\xff"}'
    message = CodexMessage("error", Raw(params), b'{"method":"error","params":%b}' % params)
    assert message.thread_id is None
