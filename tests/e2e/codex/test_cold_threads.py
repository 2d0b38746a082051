"""A thread that Codex has to load again: the parameters of the loading request take effect, and
changes by other programs are recorded.
"""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.e2e.codex.sides import ORIGINATOR, Side, both
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.dialect import Transcript, differences

pytestmark = pytest.mark.codex

# What the request sets, and a place where the next model request shows it.
OVERRIDES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "sandbox": {"sandbox": "read-only"},
    "approvals": {"approvalPolicy": "on-request"},
    "model": {"model": "gpt-5-codex"},
    "effort": {"config": {"model_reasoning_effort": "high"}},
    "base instructions": {"baseInstructions": "Speak like a sailor."},
    "developer instructions": {"developerInstructions": "Speak like a pirate."},
    "folder": {"cwd": "/tmp"},
    "without turns": {"excludeTurns": True, "sandbox": "read-only"},
    "first page": {"excludeTurns": True, "initialTurnsPage": {"limit": 1}, "model": "gpt-5-codex"},
    "a mistake": {"sandbox": "nonsense"},
}


async def begun(side: Side) -> str:
    """Starts a thread with one turn, ends the process, and returns the thread's id."""
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        settings = {
            "cwd": str(side.harness.worktree),
            "approvalPolicy": "never",
            "sandbox": "danger-full-access",
        }
        answer = await talk.ask("start", "thread/start", **settings)
        thread_id = str(answer["result"]["thread"]["id"])
        await side.turn(talk, thread_id, "first")
    return thread_id


@pytest.mark.parametrize("overrides", OVERRIDES.values(), ids=OVERRIDES.keys())
async def test_a_resume_of_a_cold_thread_sets_what_it_sets_with_codex_itself(
    overrides: dict[str, Any],
) -> None:
    async def life(side: Side) -> Transcript:
        thread_id = await begun(side)
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            answer = await talk.ask("resume", "thread/resume", threadId=thread_id, **overrides)
            if "error" not in answer:
                await side.turn(talk, thread_id, "second")
                await talk.ask(
                    "resume again", "thread/resume", threadId=thread_id, excludeTurns=True
                )
        return talk

    direct, ours = await both(life)
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []
    for method in (
        "thread/tokenUsage/updated",
        "thread/status/changed",
        "thread/settings/updated",
        "warning",
    ):
        assert ours.said(method) == direct.said(method), method


async def test_settings_of_a_resume_hold_for_the_next_generation(harness: Harness) -> None:
    side = Side(harness, through_daemon=True)
    thread_id = await begun(side)
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        given = {
            "model": "gpt-5-codex",
            "sandbox": "read-only",
            "approvalPolicy": "on-request",
            "config": {"model_reasoning_effort": "high"},
            "baseInstructions": "Speak like a sailor.",
            "developerInstructions": "Look like a pirate.",
        }
        await talk.ask("resume", "thread/resume", threadId=thread_id, **given)
        assert (await talk.wire.result("commands/execute", threadId=thread_id, text="/clear"))[
            "status"
        ] == "completed"
        await side.turn(talk, thread_id, "second")
        answer = await talk.wire.result("thread/resume", threadId=thread_id)
    request = harness.model.turn_requests()[-1]
    assert (request.body["model"], request.body["reasoning"]["effort"]) == ("gpt-5-codex", "high")
    assert request.mentions("Speak like a sailor.")
    assert request.mentions("Look like a pirate.")
    assert request.mentions("`sandbox_mode` is `read-only`")
    assert (answer["sandbox"]["type"], answer["approvalPolicy"]) == ("readOnly", "on-request")


async def test_a_resume_of_a_loaded_thread_that_no_client_takes_part_in_sets_what_it_sets_with_codex_itself() -> (
    None
):
    async def life(side: Side) -> Transcript:
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            settings = {
                "cwd": str(side.harness.worktree),
                "approvalPolicy": "never",
                "sandbox": "danger-full-access",
            }
            thread_id = str(
                (await talk.ask("start", "thread/start", **settings))["result"]["thread"]["id"]
            )
            await side.turn(talk, thread_id, "first")
            await talk.ask(
                "resume while taking part", "thread/resume", threadId=thread_id, sandbox="read-only"
            )
            await talk.ask("leave", "thread/unsubscribe", threadId=thread_id)
            await talk.ask(
                "resume",
                "thread/resume",
                threadId=thread_id,
                sandbox="read-only",
                model="gpt-5-codex",
            )
            await side.turn(talk, thread_id, "second")
        return talk

    direct, ours = await both(life)
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


@pytest.mark.parametrize("text", ["/clear", "/clear 1"])
async def test_a_resume_sets_the_sandbox_of_a_trimmed_thread_too(
    harness: Harness, text: str
) -> None:
    side = Side(harness, through_daemon=True)
    thread_id = await begun(side)
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        await side.turn(talk, thread_id, "second")
        assert (await talk.wire.result("commands/execute", threadId=thread_id, text=text))[
            "status"
        ] == "completed"
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        answer = await talk.wire.result(
            "thread/resume", threadId=thread_id, sandbox="read-only", model="gpt-5-codex"
        )
        await side.turn(talk, thread_id, "third")
    assert (answer["sandbox"]["type"], answer["model"]) == ("readOnly", "gpt-5-codex")
    assert harness.model.turn_requests()[-1].mentions("`sandbox_mode` is `read-only`")
    assert harness.model.turn_requests()[-1].body["model"] == "gpt-5-codex"


async def test_a_resume_sets_the_sandbox_of_a_thread_that_never_had_a_turn(
    harness: Harness,
) -> None:
    side = Side(harness, through_daemon=True)
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        settings = {
            "cwd": str(harness.worktree),
            "approvalPolicy": "never",
            "sandbox": "danger-full-access",
        }
        thread_id = str(
            (await talk.ask("start", "thread/start", **settings))["result"]["thread"]["id"]
        )
        await talk.ask("leave", "thread/unsubscribe", threadId=thread_id)
        answer = await talk.wire.result("thread/resume", threadId=thread_id, sandbox="read-only")
        assert answer["sandbox"]["type"] == "readOnly"
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        answer = await talk.wire.result(
            "thread/resume", threadId=thread_id, approvalPolicy="on-request"
        )
        assert (answer["sandbox"]["type"], answer["approvalPolicy"]) == ("readOnly", "on-request")
        await side.turn(talk, thread_id, "first")
    assert harness.model.turn_requests()[-1].mentions("`sandbox_mode` is `read-only`")


READ: dict[str, dict[str, Any]] = {
    "thread/read": {"includeTurns": True},
    "thread/turns/list": {"itemsView": "full"},
    "thread/items/list": {},
    "thread/list": {},
    "thread/loaded/list": {},
    "thread/unsubscribe": {},
}
OF_ALL = ("thread/list", "thread/loaded/list")
FORKS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "sandbox": {"sandbox": "read-only", "approvalPolicy": "on-request"},
    "model": {"model": "gpt-5-codex", "config": {"model_reasoning_effort": "high"}},
    "instructions": {
        "baseInstructions": "Speak like a sailor.",
        "developerInstructions": "Look like a pirate.",
    },
    "passing": {"ephemeral": True, "sandbox": "read-only"},
}


async def test_reads_of_a_cold_thread_are_answered_as_by_codex() -> None:
    async def life(side: Side) -> Transcript:
        thread_id = await begun(side)
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            for method, params in READ.items():
                await talk.ask(
                    method,
                    method,
                    **params,
                    **({} if method in OF_ALL else {"threadId": thread_id}),
                )
        return talk

    direct, ours = await both(life)
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


@pytest.mark.parametrize("params", FORKS.values(), ids=FORKS.keys())
async def test_a_fork_of_a_cold_thread_is_made_as_by_codex_itself(params: dict[str, Any]) -> None:
    async def life(side: Side) -> Transcript:
        thread_id = await begun(side)
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            answer = await talk.ask("fork", "thread/fork", threadId=thread_id, **params)
            if "error" not in answer:
                await side.turn(talk, answer["result"]["thread"]["id"], "second")
        return talk

    direct, ours = await both(life)
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


@pytest.mark.parametrize("place", ["lastTurnId", "beforeTurnId"])
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_fork_of_a_cold_thread_at_a_turn_is_made_as_by_codex_itself(
    place: str, number: int
) -> None:
    async def life(side: Side) -> Transcript:
        thread_id = await begun(side)
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            await talk.wire.result("thread/resume", threadId=thread_id)
            for prompt in ("second", "third"):
                await side.turn(talk, thread_id, prompt)
            listed = await talk.wire.result("thread/turns/list", threadId=thread_id)
        newest_first = [turn["id"] for turn in listed["data"]]
        async with AsyncExitStack() as stack:
            talk = await side.opened(stack)
            at = {place: newest_first[-1 - number]}
            answer = await talk.ask("fork", "thread/fork", threadId=thread_id, **at)
            await side.turn(talk, answer["result"]["thread"]["id"], "fourth")
        return talk

    direct, ours = await both(life)
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


@pytest.mark.parametrize(
    "params", [{"sandbox": "read-only", "model": "gpt-5-codex"}, {}], ids=["overridden", "as it is"]
)
async def test_a_thread_from_before_keeps_its_settings_in_the_next_generation(
    harness: Harness, params: dict[str, Any]
) -> None:
    thread_id = await begun(Side(harness, through_daemon=False))
    side = Side(harness, through_daemon=True)
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        answer = await talk.wire.result("thread/resume", threadId=thread_id, **params)
        assert (await talk.wire.result("commands/execute", threadId=thread_id, text="/clear"))[
            "status"
        ] == "completed"
        await side.turn(talk, thread_id, "second")
        again = await talk.wire.result("thread/resume", threadId=thread_id)
    members = ("model", "sandbox", "approvalPolicy", "reasoningEffort", "cwd")
    assert {name: again[name] for name in members} == {name: answer[name] for name in members}
    assert harness.model.turn_requests()[-1].mentions(
        "read-only" if params else "danger-full-access"
    )


@pytest.mark.parametrize("params", [{}, {"excludeTurns": True}], ids=["whole", "without turns"])
async def test_a_thread_that_was_cleared_to_nothing_is_resumed_after_a_restart(
    harness: Harness, params: dict[str, Any]
) -> None:
    """Codex has no rollout of its provider thread, and says so in two ways."""
    async with harness.conversation() as talk:
        await talk.turn()
        assert (await talk.type("/clear"))["status"] == "completed"
    async with harness.daemon(), harness.client() as client:
        answer = await client.request("thread/resume", threadId=talk.thread_id, **params)
        assert answer["thread"]["id"] == talk.thread_id
        back = Conversation(client, talk.thread_id, harness.model, harness.script)
        back.turns = 1
        assert seen_turns(await back.turn(), 2) == [2]
