"""`context/inspect` compared with the model's next input, item by item, after every kind of
bootstrap.
"""

import random
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import DiscardSection
from trimpoint.testkit import ModelRequest, Usage, failure, overflow, reasoning, run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.effort import longer

pytestmark = pytest.mark.codex

CLASSES = {
    "function_call": "toolCall",
    "function_call_output": "toolResult",
    "reasoning": "reasoning",
    "compaction": "summary",
}


async def inspected(talk: Conversation) -> dict[str, Any]:
    answer = await talk.client.request("context/inspect", threadId=talk.thread_id)
    return dict(answer)


def line(text: str) -> str:
    return " ".join(text.split())[:60]


def sent(item: dict[str, Any]) -> tuple[str, ...]:
    """Returns an item of the model's input in the form of an inspection."""
    if item["type"] == "message":
        text = "\n".join(part["text"] for part in item["content"] if "text" in part)
        return "message", item["role"], line(text)
    text = item.get("output", item.get("arguments", ""))
    return CLASSES[item["type"]], line(text) if item["type"].startswith("function_call") else ""


def listed(item: dict[str, Any]) -> tuple[str, ...]:
    """Returns an item of an inspection in the same form."""
    if item["class"] in ("reasoning",):
        return item["class"], ""
    if item["class"] in ("toolCall", "toolResult"):
        text = item["preview"].removeprefix("exec_command ")
        return item["class"], text[:60].removesuffix("…")
    if item["class"] == "summary" and item["role"] == "tool":
        return item["class"], ""
    return "message", item["role"], item["preview"][:60]


def given(request: ModelRequest) -> list[tuple[str, ...]]:
    """Returns the model's input before the prompt. Codex sends its own instructions as the first
    item, or beside the items (0.153 with this model).
    """
    instructions = request.body.get("instructions")
    beside = [("message", "developer", line(instructions))] if instructions else []
    return beside + [sent(item) for item in request.input[:-1]]


async def check_next(talk: Conversation) -> dict[str, Any]:
    """Inspects the context, runs a turn, and checks that its input before the prompt equals the
    inspection, which is returned.
    """
    found = await inspected(talk)
    await talk.turn(tool=True)
    request = talk.model.turn_requests()[-2]
    assert [listed(item) for item in found["items"]] == given(request)
    assert sum(total["estTokens"] for total in found["totals"]) == found["estimatedTokens"]
    assert found["usedTokens"] == found["estimatedTokens"] + found["overheadTokens"]
    assert sum(total["count"] for total in found["totals"]) == len(found["items"])
    return found


@pytest.fixture
def project(harness: Harness) -> Harness:
    (harness.worktree / "AGENTS.md").write_text("Answer briefly.\n")
    discard = DiscardSection(floor_tokens=1, target_tokens=100)
    harness.config = msgspec.structs.replace(harness.config, discard=discard)
    return harness


async def test_every_item_has_its_class_and_its_place_in_the_ledger(project: Harness) -> None:
    async with project.conversation() as talk:
        talk.turns += 1
        talk.script.then(reasoning("hm", encrypted_content="SEALED") + run("echo hi"), say("a."))
        await talk.prompt("prompt-1.")
        found = await check_next(talk)
        turns = [turn["id"] for turn in (await talk.snapshot())["turns"]]
        status = await talk.client.request("context/status", threadId=talk.thread_id)
        after = await inspected(talk)
    classes = [item["class"] for item in found["items"]]
    assert classes[:2] == ["instructions", "skills"]
    assert classes[-5:] == ["user", "reasoning", "toolCall", "toolResult", "assistant"]
    assert "projectDocs" in classes
    assert {total["class"] for total in found["totals"]} >= {"environment", *classes}
    own = [item for item in found["items"] if item["turnId"] is not None]
    assert [item["shortId"] for item in own] == ["m1.1", "m1.2", "m1.2", "m1.2", "m1.3"]
    assert {item["turnId"] for item in own} == {turns[0]}
    assert all(item["entryId"] for item in own)
    assert (after["usedTokens"], after["estimated"]) == (status["usedTokens"], False)
    assert [item["index"] for item in after["items"]] == list(range(len(after["items"])))


@pytest.mark.also_restarted
@pytest.mark.parametrize(
    "text",
    [
        "/clear",
        "/clear 1",
        "/compact --force",
        "/compact --keep 1 --force",
        "/compress 100",
        "/revert 2 --context",
        "/revert 0 --context",
    ],
)
async def test_inspect_shows_the_next_input_after_each_kind_of_bootstrap(
    project: Harness, text: str
) -> None:
    async with project.conversation() as talk:
        await talk.turn(tool=True)
        for _ in range(2):
            await check_next(talk)
        outcome = await talk.type(text)
        assert outcome["status"] == "completed", outcome
        await check_next(talk)
        await check_next(talk)
        if not text.startswith("/revert"):
            await talk.type("/undo")
            await check_next(talk)


@pytest.mark.parametrize("summary", ["", "readable"])
async def test_inspect_shows_the_next_input_after_a_sealed_compaction(
    sealed_harness: Harness, summary: str
) -> None:
    async with sealed_harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        talk.script.then(say(summary))
        compacted = await talk.type("/compact --keep 1 --force")
        assert compacted["summaryUnavailable"] is (True if not summary else None), compacted
        found = await check_next(talk)
        await check_next(talk)
    assert [item["class"] for item in found["items"]].count("summary") == 1


async def test_inspect_shows_the_next_input_after_an_overflow(project: Harness) -> None:
    async with project.conversation() as talk:
        for _ in range(6):
            await talk.turn()
        talk.script.then(overflow(), say("It fits."))
        await talk.prompt("too much.")
        await check_next(talk)


async def test_context_answers_in_chat_with_bars_and_the_largest(project: Harness) -> None:
    async with project.conversation() as talk:
        await talk.turn(tool=True)
        outcome = await talk.type("/context")
        typed = await talk.prompt("/context")
    lines = outcome["message"].splitlines()
    assert lines[0].startswith("Context: ")
    assert any(line.split()[:1] == ["instructions"] and "█" in line for line in lines)
    assert "The 5 largest:" in lines
    assert typed["status"] == "completed"


async def test_a_broken_off_turn_is_listed_as_the_model_sees_it(project: Harness) -> None:
    async with project.conversation() as talk:
        talk.script.then(run("echo one"), failure("weird", "broken"))
        await talk.prompt("prompt that fails.")
        await check_next(talk)


@pytest.mark.parametrize("seed", range(longer()))
async def test_random_conversations_are_listed_as_they_are_sent(
    project: Harness, seed: int
) -> None:
    chance = random.Random(seed)
    commands = ["/clear 1", "/clear", "/compact --force", "/undo", "/undo --redo", "/compress 100"]
    with anyio.fail_after(SCENARIO_S):
        async with project.conversation() as talk:
            await talk.turn(tool=True)
            for _ in range(10):
                await check_next(talk)
                if chance.random() < 0.6:
                    await talk.type(chance.choice([*commands, f"/revert {chance.randint(0, 3)}"]))


async def test_a_dry_run_and_the_command_tell_the_same_tokens(project: Harness) -> None:
    async with project.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        for text in ("/clear 2", "/undo", "/compress 100", "/undo", "/clear", "/undo"):
            said = await talk.type(f"{text} --dry-run")
            done = await talk.type(text)
            assert done["status"] == "completed", done
            for name in ("before", "after", "windowTokens", "beforePercent", "afterPercent"):
                assert said["tokens"][name] == done["tokens"][name], (text, name)


async def test_advice_frees_what_it_promises(project: Harness) -> None:
    async with project.conversation() as talk:
        await talk.turn()
        status = await talk.client.request("context/status", threadId=talk.thread_id)
        window = status["windowTokens"]
        for _ in range(4):
            await talk.turn()
        talk.script.then(say("full.", usage=Usage(input_tokens=round(0.9 * window))))
        await talk.prompt("fill it.")
        answer = await talk.client.request("context/advice", threadId=talk.thread_id)
        assert answer["level"] == "critical"
        clear = next(one for one in answer["advice"] if one["command"].startswith("/clear"))
        done = await talk.type(clear["command"])
        assert done["tokens"]["after"] == clear["afterTokens"]
        assert done["tokens"]["before"] - done["tokens"]["after"] == clear["freesTokens"]


async def test_a_change_of_the_model_that_codex_will_tell_of_is_noted(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        assert (await inspected(talk))["note"] is None
        await talk.client.request(
            "thread/settings/update", threadId=talk.thread_id, model="gpt-5-codex"
        )
        found = await inspected(talk)
        told = await talk.turn()
        afterwards = await inspected(talk)
    assert "The model was changed" in found["note"]
    assert told.mentions("<model_switch>")
    assert afterwards["note"] is None
