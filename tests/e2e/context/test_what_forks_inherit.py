"""The parameters that a thread was started with apply in its forks, in compactions and after trims,
as in Codex itself.
"""

from contextlib import AsyncExitStack
from typing import Any

import pytest
from trimpoint.testkit import ModelRequest

from tests.e2e.codex.sides import Side
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.e2e.dialect import Transcript

pytestmark = pytest.mark.codex

TOOL: dict[str, Any] = {
    "type": "function",
    "name": "look_up",
    "description": "Looks something up.",
    "inputSchema": {"type": "object", "properties": {}},
}
INSTRUCTIONS = {
    "baseInstructions": "Speak like a sailor.",
    "developerInstructions": "Look like a pirate.",
}
STARTED: dict[str, Any] = {
    **INSTRUCTIONS,
    "approvalPolicy": "never",
    "approvalsReviewer": "auto_review",
    "sandbox": "danger-full-access",
    "model": "gpt-5-codex",
    "config": {"model_reasoning_effort": "high"},
    "dynamicTools": [TOOL],
}
ANSWERED = ("approvalPolicy", "approvalsReviewer", "sandbox", "model", "reasoningEffort", "cwd")
FORKS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "overridden": {"approvalPolicy": "on-request", "sandbox": "workspace-write"},
}


def begun_with(request: ModelRequest) -> dict[str, Any]:
    """Returns the parts of a model request that come from the thread's start parameters."""
    said = {text: request.mentions(text) for text in INSTRUCTIONS.values()}
    tools = [tool.get("name") for tool in request.body["tools"]]
    body = request.body
    return {**said, "model": body["model"], "effort": body["reasoning"], "tool": "look_up" in tools}


async def forked(
    side: Side,
    trims: str,
    params: dict[str, Any],
    *,
    old: bool,
    update: dict[str, Any] | None = None,
) -> Transcript:
    """Forks a thread after `trims`, behind its first turn or at its end, and runs a turn in the
    fork.
    """
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        started = await talk.wire.result("thread/start", cwd=str(side.harness.worktree), **STARTED)
        thread_id = started["thread"]["id"]
        for prompt in ("first", "second"):
            await talk.turn(thread_id, prompt)
        turns = (await talk.wire.result("thread/turns/list", threadId=thread_id))["data"]
        await talk.wire.result("thread/name/set", threadId=thread_id, name="A name")
        if update is not None:
            await talk.wire.result("thread/settings/update", threadId=thread_id, **update)
        if trims:
            await talk.wire.result("commands/execute", threadId=thread_id, text=trims)
        at = {"lastTurnId": turns[-1]["id"]} if old else {}
        fork = await talk.wire.result("thread/fork", threadId=thread_id, **params, **at)
        talk.note("answer", {name: fork[name] for name in ANSWERED})
        talk.note("name", fork["thread"]["name"])
        await talk.turn(fork["thread"]["id"], "third")
        talk.note("request", begun_with(side.harness.model.turn_requests()[-1]))
    return talk


@pytest.mark.parametrize("old", [False, True], ids=["as it is", "behind a pruned turn"])
@pytest.mark.parametrize("params", FORKS.values(), ids=FORKS.keys())
async def test_a_fork_right_after_a_trim_inherits_what_it_does_with_codex_itself(
    params: dict[str, Any], old: bool
) -> None:
    async with opened_harness() as harness:
        direct = await forked(Side(harness, through_daemon=False), "", params, old=old)
    async with opened_harness() as harness:
        ours = await forked(Side(harness, through_daemon=True), "/clear 1", params, old=old)
    for label in ("answer", "name", "request"):
        assert dict(ours.answers)[label] == dict(direct.answers)[label]


async def test_a_fork_right_after_a_trim_has_the_sandbox_that_a_fork_by_codex_itself_has() -> None:
    """The one that was set last counts, where it is inherited."""
    update = {"sandboxPolicy": {"type": "readOnly"}}
    async with opened_harness() as harness:
        direct = await forked(Side(harness, through_daemon=False), "", {}, old=False, update=update)
    async with opened_harness() as harness:
        ours = await forked(
            Side(harness, through_daemon=True), "/clear 1", {}, old=False, update=update
        )
    assert dict(ours.answers)["answer"] == dict(direct.answers)["answer"]


async def clear_and_ask(harness: Harness, talk: Transcript, thread_id: str) -> dict[str, Any]:
    """Types `/clear`, runs a turn, and returns the parts of its request that come from the start
    parameters.
    """
    outcome = await talk.wire.result("commands/execute", threadId=thread_id, text="/clear")
    assert outcome["status"] == "completed"
    await talk.turn(thread_id, "afterwards")
    return begun_with(harness.model.turn_requests()[-1])


async def test_a_fork_keeps_instructions_and_tools_of_its_parent_in_the_next_generation(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        talk = await Side(harness, through_daemon=True).opened(stack)
        started = await talk.wire.result("thread/start", cwd=str(harness.worktree), **STARTED)
        await talk.turn(started["thread"]["id"], "first")
        fork = await talk.wire.result("thread/fork", threadId=started["thread"]["id"])
        await talk.turn(fork["thread"]["id"], "second")
        before = begun_with(harness.model.turn_requests()[-1])
        after = await clear_and_ask(harness, talk, fork["thread"]["id"])
    assert after == before
    assert all(before[text] for text in INSTRUCTIONS.values())


async def test_an_adopted_thread_keeps_its_instructions_and_tools_in_the_next_generation(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        talk = await Side(harness, through_daemon=False).opened(stack)
        started = await talk.wire.result("thread/start", cwd=str(harness.worktree), **STARTED)
        await talk.turn(started["thread"]["id"], "first")
    async with AsyncExitStack() as stack:
        talk = await Side(harness, through_daemon=True).opened(stack)
        await talk.wire.result("thread/resume", threadId=started["thread"]["id"])
        after = await clear_and_ask(harness, talk, started["thread"]["id"])
    assert after["Speak like a sailor."]
    assert after["tool"]


SET = {"at its start": {}, "later": {"model": "gpt-5-codex", "effort": "high"}}


@pytest.mark.parametrize("later", SET.values(), ids=SET.keys())
async def test_a_compaction_is_made_by_the_model_of_the_thread(
    harness: Harness, later: dict[str, Any]
) -> None:
    async with harness.daemon(), harness.client() as client:
        started = await client.request(
            "thread/start", cwd=str(harness.worktree), **({} if later else STARTED)
        )
        talk = Conversation(client, started["thread"]["id"], harness.model, harness.script)
        await talk.turn()
        if later:
            await client.request("thread/settings/update", threadId=talk.thread_id, **later)
        await talk.turn()
        for _ in range(2):  # the second one is of a thread without a turn
            assert (await talk.type("/compact --force"))["status"] == "completed"
    asked = [one.body for one in harness.model.requests if one.kind == "inline_compaction"]
    assert [(body["model"], body["reasoning"]["effort"]) for body in asked] == [
        ("gpt-5-codex", "high")
    ] * 2


async def properties_of_a_fork(side: Side, trims: str, *, old: bool) -> dict[str, Any]:
    """Sets properties of a thread that are not in its context, forks it after `trims`, behind its
    first turn or at its end, and returns those that the fork has.
    """
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        ask = talk.wire.result
        thread_id = (await ask("thread/start", cwd=str(side.harness.worktree)))["thread"]["id"]
        for prompt in ("first", "second"):
            await talk.turn(thread_id, prompt)
        turns = (await ask("thread/turns/list", threadId=thread_id))["data"]
        created = await ask("project/create", idempotencyKey="one", name="Project", roots=[])
        section = (await ask("threadSection/create", name="Mine"))["section"]
        known = {created["project"]["id"]: "the project"}
        given: dict[str, Any] = {"projectId": created["project"]["id"], "daybreakEnabled": True}
        git = {"branch": "feature", "sha": "abc"}
        await ask("thread/metadata/update", threadId=thread_id, gitInfo=git, **given)
        await ask("thread/section/move", threadId=thread_id, sectionId=section["id"])
        await ask("thread/goal/set", threadId=thread_id, objective="Ship it.", status="paused")
        note = {"attachmentType": "note", "identityKey": "n1", "payload": {"a": 1}}
        await ask("thread/attachment/add", threadId=thread_id, **note)
        if trims:
            await ask("commands/execute", threadId=thread_id, text=trims)
        at = {"lastTurnId": turns[-1]["id"]} if old else {}
        fork_id = (await ask("thread/fork", threadId=thread_id, **at))["thread"]["id"]
        thread = (await ask("thread/read", threadId=fork_id))["thread"]
        attached = (await ask("thread/attachment/list", threadId=fork_id))["data"]
        return {
            "project": known.get(thread["projectId"]),
            **{name: thread[name] for name in ("daybreakEnabled", "gitInfo", "section")},
            "goal": (await ask("thread/goal/get", threadId=fork_id))["goal"],
            "attachments": [one["payload"] for one in attached],
        }


@pytest.mark.parametrize("old", [False, True], ids=["as it is", "behind a pruned turn"])
async def test_a_fork_right_after_a_trim_has_the_properties_that_a_fork_by_codex_itself_has(
    old: bool,
) -> None:
    async with opened_harness() as harness:
        direct = await properties_of_a_fork(Side(harness, through_daemon=False), "", old=old)
    async with opened_harness() as harness:
        ours = await properties_of_a_fork(Side(harness, through_daemon=True), "/clear 1", old=old)
    assert ours == direct
    assert ours["attachments"] == [{"a": 1}]


async def test_a_named_thread_can_have_an_ephemeral_fork_right_after_a_trim(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        await talk.client.request("thread/name/set", threadId=talk.thread_id, name="A name")
        await talk.type("/clear 1")
        answer = await talk.client.request(
            "thread/fork", threadId=talk.thread_id, ephemeral=True, excludeTurns=True
        )
    assert answer["thread"]["ephemeral"]
