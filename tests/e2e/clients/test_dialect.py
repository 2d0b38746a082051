"""For a client the daemon is an app-server: requests get the same answers as from Codex itself
(docs/spec/clients.md).

The permitted differences are listed here, each with its reason. Any other difference is a defect.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from trimpoint.testkit import Reply, hang, http_error, run, say
from trimpoint_protocol.methods import NOTIFICATIONS

from tests.e2e.clients.transcripts import INPUT, READS, begun
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.dialect import Transcript, differences
from tests.e2e.wire import connect_socket, connect_to_codex

pytestmark = pytest.mark.codex


STRANGER = "01900000-0000-7000-8000-000000000000"


# One child serves all clients, so Codex knows the thread as begun by trimpoint and not by the
# client.
ORIGINATOR = re.compile(r"\.originator: test → trimpoint$")


# Codex says these at moments of its own: greetings of a connection, notices, limits of an account.
UNTIMED = (
    "configWarning", "remoteControl/status/changed", "deprecationNotice",
    "account/rateLimits/updated", "thread/readState/changed",
)  # fmt: skip


Scenario = Callable[[Transcript, Harness], Awaitable[None]]


async def both(scenario: Scenario) -> tuple[Transcript, Transcript]:
    """Runs `scenario` with Codex itself and through a daemon, and returns both transcripts."""
    async with opened_harness() as harness, connect_to_codex(harness) as wire:
        codex = Transcript(wire)
        await wire.initialize()
        await scenario(codex, harness)
    async with (
        opened_harness() as harness,
        harness.daemon(),
        connect_socket(harness.socket) as wire,
    ):
        daemon = Transcript(wire)
        await wire.initialize()
        await scenario(daemon, harness)
    return codex, daemon


def unexplained(codex: Transcript, daemon: Transcript) -> list[str]:
    return [
        difference for difference in differences(codex, daemon) if not ORIGINATOR.search(difference)
    ]


async def a_life(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness)
    await talk.ask("read before a turn", "thread/read", threadId=thread_id)
    await talk.ask("read turns before a turn", "thread/read", threadId=thread_id, includeTurns=True)
    await talk.ask("list before a turn", "thread/list")
    await talk.ask("resume before a turn", "thread/resume", threadId=thread_id)
    harness.script.then(say("one."), run("echo hi"), say("two."))
    await talk.turn(thread_id, "first")
    await talk.turn(thread_id, "second")
    for label, method, params in READS:
        await talk.ask(label, method, threadId=thread_id, **params)
    page = await talk.ask("first page", "thread/turns/list", threadId=thread_id, limit=1)
    await talk.ask(
        "second page",
        "thread/turns/list",
        threadId=thread_id,
        limit=1,
        cursor=page["result"]["nextCursor"],
    )
    await talk.ask("list", "thread/list")
    await talk.ask("loaded", "thread/loaded/list")
    await talk.ask("name", "thread/name/set", threadId=thread_id, name="a name")
    await talk.ask("resume", "thread/resume", threadId=thread_id)
    await talk.ask("resume without turns", "thread/resume", threadId=thread_id, excludeTurns=True)
    await talk.ask("inject", "thread/inject_items", threadId=thread_id, items=[MESSAGE])
    await talk.ask("inject nothing", "thread/inject_items", threadId=thread_id, items=[])
    await talk.ask("terminals", "thread/backgroundTerminals/list", threadId=thread_id)
    await talk.ask("unsubscribe", "thread/unsubscribe", threadId=thread_id)
    await talk.ask("unsubscribe again", "thread/unsubscribe", threadId=thread_id)


MESSAGE = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "between the lines"}],
}


async def test_the_life_of_a_thread_is_the_same_word_for_word() -> None:
    codex, daemon = await both(a_life)
    assert unexplained(codex, daemon) == []


async def test_everything_comes_in_the_same_order() -> None:
    codex, daemon = await both(a_life)
    # What trimpoint tells beside it comes in between; a client that does not know it passes over
    # it. Codex's own warning about the model comes before or after the answer to `turn/start`.
    for either in ("warning", "answer"):
        ours = daemon.order(either, *UNTIMED, *NOTIFICATIONS)
        assert ours == codex.order(either, *UNTIMED), f"all but each {either}"
    for method in (
        "thread/started",
        "turn/started",
        "turn/completed",
        "item/completed",
        "thread/name/updated",
        "thread/tokenUsage/updated",
    ):
        assert [*map(without_originator, daemon.said(method))] == [
            *map(without_originator, codex.said(method))
        ], method


def without_originator(params: Any) -> str:
    return re.sub(r"'originator': '\w+'", "", str(params))


async def test_each_client_is_greeted_as_by_codex() -> None:
    async def nothing_more(talk: Transcript, harness: Harness) -> None:
        await talk.wire.settled()

    codex, daemon = await both(nothing_more)
    assert sorted(daemon.order("answer")) == sorted(codex.order("answer"))
    assert daemon.said("configWarning") == codex.said("configWarning")
    greeting, ours = codex.wire.received[0]["result"], daemon.wire.received[0]["result"]
    assert ours["userAgent"] == greeting["userAgent"]
    assert ours.keys() == greeting.keys()


async def archived_and_back(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness)
    await talk.turn(thread_id, "first")
    await talk.ask("archive", "thread/archive", threadId=thread_id)
    for label, method in (
        ("resume", "thread/resume"),
        ("fork", "thread/fork"),
        ("read", "thread/read"),
        ("again", "thread/archive"),
    ):
        await talk.ask(f"{label} archived", method, threadId=thread_id)
    await talk.ask("unsubscribe archived", "thread/unsubscribe", threadId=thread_id)
    await talk.ask("list archived", "thread/list", archived=True)
    await talk.ask("list", "thread/list")
    await talk.ask("unarchive", "thread/unarchive", threadId=thread_id)
    await talk.ask("unarchive again", "thread/unarchive", threadId=thread_id)
    await talk.ask("resume", "thread/resume", threadId=thread_id)
    await talk.turn(thread_id, "second")
    await talk.ask("delete", "thread/delete", threadId=thread_id)
    await talk.ask("read deleted", "thread/read", threadId=thread_id)
    await talk.ask("list at last", "thread/list")
    await talk.ask("list archived at last", "thread/list", archived=True)


async def test_a_thread_goes_into_the_archive_and_comes_back_as_with_codex() -> None:
    codex, daemon = await both(archived_and_back)
    assert unexplained(codex, daemon) == []
    lives = ("thread/archived", "thread/unarchived", "thread/deleted")
    assert [method for method in daemon.order() if method in lives] == [
        method for method in codex.order() if method in lives
    ]


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_thread_whose_present_generation_never_had_a_turn_comes_back_from_the_archive(
    harness: Harness, turns: int
) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        talk = Transcript(wire)
        thread_id = await begun(talk, harness)
        for _ in range(turns):
            await talk.turn(thread_id, "before")
        if turns:
            assert (await wire.result("commands/execute", threadId=thread_id, text="/clear"))[
                "status"
            ] == "completed"
        assert await wire.result("thread/archive", threadId=thread_id) == {}
        answer = await wire.result("thread/unarchive", threadId=thread_id)
        assert answer["thread"]["id"] == thread_id
        assert (
            wire.methods().count("thread/archived")
            == wire.methods().count("thread/unarchived")
            == 1
        )
        await talk.turn(thread_id, "after")
        read = await wire.result("thread/read", threadId=thread_id, includeTurns=True)
        assert len(read["thread"]["turns"]) == turns + 1


async def forked(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness)
    harness.script.then(say("one."), say("of the fork."))
    await talk.turn(thread_id, "first")
    answer = await talk.ask("fork", "thread/fork", threadId=thread_id)
    fork_id = answer["result"]["thread"]["id"]
    await talk.turn(fork_id, "second")
    await talk.ask("fork without turns", "thread/fork", threadId=fork_id, excludeTurns=True)
    await talk.ask("passing fork", "thread/fork", threadId=fork_id, ephemeral=True)
    for label, method, params in READS:
        await talk.ask(f"{label} of the fork", method, threadId=fork_id, **params)
    await talk.ask("delete what has a fork", "thread/delete", threadId=thread_id)
    await talk.ask("read what could not be deleted", "thread/read", threadId=thread_id)
    await talk.ask("list", "thread/list")


async def test_a_fork_is_made_and_read_as_with_codex() -> None:
    codex, daemon = await both(forked)
    assert unexplained(codex, daemon) == []


async def questions_about_the_house(talk: Transcript, harness: Harness) -> None:
    for label, method, params in ASIDE:
        await talk.ask(label, method, **params)


ASIDE: list[tuple[str, str, dict[str, Any]]] = [
    ("models", "model/list", {}), ("config", "config/read", {}), ("requirements", "configRequirements/read", {}),
    ("modes", "collaborationMode/list", {}), ("features", "experimentalFeature/list", {"limit": 3}), ("account", "account/read", {}),
    ("skills", "skills/list", {}), ("hooks", "hooks/list", {}), ("files", "fs/readDirectory", {"path": "/proc/self/task"}),
    ("unknown method", "no/such/method", {}), ("no files", "fs/readFile", {"path": "/nothing/here"}), ("list nothing", "thread/list", {}),
    ("loaded nothing", "thread/loaded/list", {}), ("search", "thread/search", {"searchTerm": "x"}), ("bad list", "thread/list", {"limit": "x"}),
]  # fmt: skip


async def test_requests_about_no_thread_are_answered_as_by_codex() -> None:
    codex, daemon = await both(questions_about_the_house)
    ours = [
        difference
        for difference in unexplained(codex, daemon)
        if not difference.startswith("files:")
    ]
    assert ours == []


async def mistakes(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness)
    harness.script.then(say("one."))
    await talk.turn(thread_id, "first")
    for method, params in MISTAKEN.items():
        await talk.ask(f"{method} without a thread", method, **params)
        await talk.ask(f"{method} of a number", method, **params, threadId=5)
        await talk.ask(f"{method} of a stranger", method, **params, threadId=STRANGER)
        await talk.ask(f"{method} of nonsense", method, **params, threadId="nonsense")
    await talk.ask("prompt that is no list", "turn/start", threadId=thread_id, input="hello")
    await talk.ask("prompt that is missing", "turn/start", threadId=thread_id)
    await talk.ask(
        "prompt that is too long",
        "turn/start",
        threadId=thread_id,
        input=[{"type": "text", "text": "x" * 1_100_000}],
    )
    await talk.ask("interrupt when idle", "turn/interrupt", threadId=thread_id, turnId="x")
    await talk.ask(
        "steer when idle", "turn/steer", threadId=thread_id, expectedTurnId="x", input=INPUT
    )
    await talk.ask("unknown direction", "thread/turns/list", threadId=thread_id, sortDirection="up")
    await talk.ask("unknown cursor", "thread/turns/list", threadId=thread_id, cursor="nonsense")
    await talk.ask("start with a wrong type", "thread/start", cwd=7)
    await talk.ask("start nowhere", "thread/start", cwd="/nothing/here", sandbox="nonsense")


MISTAKEN: dict[str, dict[str, Any]] = {
    "turn/start": {"input": INPUT}, "turn/steer": {"input": INPUT, "expectedTurnId": "x"}, "turn/interrupt": {"turnId": "x"},
    "thread/read": {}, "thread/resume": {}, "thread/fork": {}, "thread/archive": {}, "thread/unarchive": {}, "thread/delete": {},
    "thread/unsubscribe": {}, "thread/name/set": {"name": "x"}, "thread/turns/list": {}, "thread/items/list": {},
    "thread/compact/start": {}, "thread/inject_items": {"items": [MESSAGE]}, "thread/settings/update": {"effort": "low"},
    "thread/backgroundTerminals/list": {}, "thread/goal/get": {}, "thread/revert": {"beforeTurnId": "x"}, "review/start": {"target": {"type": "uncommittedChanges"}},
}  # fmt: skip


async def test_mistakes_get_the_errors_that_codex_has_for_them() -> None:
    codex, daemon = await both(mistakes)
    assert unexplained(codex, daemon) == []


async def against_the_rules(talk: Transcript, harness: Harness) -> None:
    await talk.ask("initialize twice", "initialize", clientInfo={"name": "x", "version": "1"})
    thread_id = await begun(talk, harness)
    await talk.turn(thread_id, "first")
    await talk.ask("archive", "thread/archive", threadId=thread_id)
    await talk.ask("turn of an archived thread", "turn/start", threadId=thread_id, input=INPUT)
    await talk.ask("name of an archived thread", "thread/name/set", threadId=thread_id, name="x")


async def test_refusals_of_the_daemon_say_more_than_codexs() -> None:
    codex, daemon = await both(against_the_rules)
    assert unexplained(codex, daemon) == [
        "initialize twice: .error.data: nothing → {'reason': 'already_initialized', 'retryable': False, 'hint': ''}",
        *(
            line
            for label, words in (
                ("turn", "thread not found: <1>"),
                ("name", "no rollout found for thread id <1>"),
            )
            for line in (
                f"{label} of an archived thread: .error.code: -32600 → -32012",
                f"{label} of an archived thread: .error.message: {words} → The thread <1> is archived.",
                f"{label} of an archived thread: .error.data: nothing → {ARCHIVED}",
            )
        ),
    ]


ARCHIVED = "{'reason': 'thread_archived', 'retryable': False, 'hint': 'Unarchive the thread with thread/unarchive.'}"


async def compacted(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness)
    await talk.turn(thread_id, "first")
    after = len(talk.wire.received)
    await talk.ask("compact", "thread/compact/start", threadId=thread_id)
    await talk.wire.received_after("turn/completed", after)


async def test_a_compaction_looks_like_one_of_codexs() -> None:
    codex, daemon = await both(compacted)
    assert unexplained(codex, daemon) == []
    shape = [
        "thread/status/changed",
        "turn/started",
        "item/started",
        "item/completed",
        "thread/status/changed",
        "turn/completed",
    ]
    for talk in (codex, daemon):
        order = talk.order()
        compaction = order[len(order) - order[::-1].index("answer") :]
        assert [method for method in compaction if method in shape] == shape


async def troubled(talk: Transcript, harness: Harness) -> None:
    thread_id = await begun(talk, harness, approvalPolicy="untrusted")
    wire = talk.wire

    async def begin(label: str, *replies: Reply) -> str:
        harness.script.then(*replies)
        answer = await talk.ask(label, "turn/start", threadId=thread_id, input=INPUT)
        return str(answer["result"]["turn"]["id"])

    async def end(turn_id: str) -> None:
        await wire.until(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            )
        )

    await end(await begin("a turn that fails", http_error(400, "no")))
    turn_id = await begin("a turn that asks", run("touch made.txt"))
    question = await wire.received_after(COMMAND)
    await talk.ask("read while it asks", "thread/read", threadId=thread_id)
    await wire.send({"id": question["id"], "result": {"decision": "cancel"}})
    await end(turn_id)
    # What is steered in makes Codex ask the model again, and again it gets no end.
    turn_id = await begin("a turn to interrupt", hang("half a"), hang("half a"), hang("half a"))
    await wire.received_after("item/agentMessage/delta")
    await talk.ask("steer", "turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=INPUT)
    await talk.ask(
        "steer another", "turn/steer", threadId=thread_id, expectedTurnId="x", input=INPUT
    )
    await talk.ask("prompt meanwhile", "turn/start", threadId=thread_id, input=INPUT)
    await talk.ask("interrupt another", "turn/interrupt", threadId=thread_id, turnId="x")
    await talk.ask("interrupt", "turn/interrupt", threadId=thread_id, turnId=turn_id)
    await end(turn_id)
    # How much of a steered prompt an interrupted turn still took in is a matter of moments, with
    # Codex alone too.
    await talk.ask("turns", "thread/turns/list", threadId=thread_id, itemsView="notLoaded")


COMMAND = "item/commandExecution/requestApproval"


async def test_turns_that_fail_are_interrupted_steered_or_ask_look_as_with_codex() -> None:
    codex, daemon = await both(troubled)
    assert unexplained(codex, daemon) == []
    for method in ("turn/completed", "error", "thread/status/changed", COMMAND):
        assert daemon.said(method) == codex.said(method), method
