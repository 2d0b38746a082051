"""Masks between two steps of a turn with the real Codex: the turn pauses, old output leaves the next
input, and the work goes on (docs/spec/context.md).
"""

import random
from typing import Any

import anyio
import pytest
from trimpoint.core.decide.agent_tools import MASKED_TEXT
from trimpoint.core.decide.masking import NEWEST_OUTPUTS
from trimpoint.core.model import events as ev
from trimpoint.gateway.commands import within_turns
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.testkit import call

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.codex_dies import codex_dies_while_writing
from tests.e2e.conftest import longer
from tests.e2e.context.within import (
    OLD,
    WORDS,
    Work,
    at,
    begin,
    ended,
    goes_on,
    house,
    prompts,
    shown,
    text_of,
    warnings,
)
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.trims.masking import counted, masked

pytestmark = pytest.mark.codex


async def test_old_output_leaves_the_context_of_a_turn_whose_work_goes_on() -> None:
    async with at(Work()) as talk:
        turn_id = await begin(talk)
        paused = await ended(talk, turn_id)
        done = await ended(talk, await goes_on(talk, turn_id))
        asked = shown(talk.model.turn_requests()[-1])
        snapshot = await talk.snapshot()
        await talk.complete("/undo")
        await talk.prompt("and?")
        back = shown(talk.model.turn_requests()[-1])
    assert (paused["status"], paused["error"], done["status"]) == ("completed", None, "completed")
    *now, prompt = asked
    before = back[: len(now)]
    assert text_of(prompt) == MASKED_TEXT
    assert counted(now) == masked(before, *OLD)
    assert len(now) == 1 + 2 * len(WORDS)
    assert masked(before, *WORDS) != before
    assert not any("left the context" in str(item) for item in before)
    assert "<turn_aborted>" not in str(back)
    [said] = [one for one in warnings(talk) if one.startswith("Masked automatically")]
    assert "The work goes on in the next turn" in said
    assert [turn["status"] for turn in snapshot["turns"]] == ["completed", "completed"]


async def test_a_command_in_the_background_is_left_alone() -> None:
    work = Work()
    work.first = call("exec_command", {"cmd": "sleep 600", "yield_time_ms": 250})
    work.answers_at_once = True
    async with at(work) as talk:
        done = await ended(talk, await begin(talk))
    assert done["status"] == "completed"
    assert prompts(talk) == ["work."]


async def test_a_command_of_the_person_is_left_alone() -> None:
    work = Work()
    work.may_end = anyio.Event()
    work.answers_at_once = True
    async with at(work) as talk:
        turn_id = await begin(talk)
        with anyio.fail_after(STEP_S):
            await talk.model.wait_for_request(len(WORDS))
        await talk.client.request(
            "thread/shellCommand", threadId=talk.thread_id, command="sleep 600"
        )
        with anyio.fail_after(STEP_S):
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "item/started" and "sleep 600" in str(m["params"]["item"])
                )
            )
        work.may_end.set()
        done = await ended(talk, turn_id)
        ends = [one for one in talk.notifications if one["method"] == "item/completed"]
    assert done["status"] == "completed"
    assert not any("sleep 600" in str(one["params"]["item"]) for one in ends)


async def test_queued_prompts_come_behind_the_work_that_goes_on() -> None:
    work = Work()
    work.may_end = anyio.Event()
    async with at(work) as talk:
        await begin(talk)
        for number, text in enumerate(("second.", "third.")):
            await talk.client.request(
                "orchestration/dispatch",
                command={
                    "type": "thread.queue.add",
                    "commandId": f"queue-{number}",
                    "threadId": talk.thread_id,
                    "input": [{"type": "text", "text": text}],
                },
            )
        work.may_end.set()
        with anyio.fail_after(STEP_S):
            await talk.model.wait_for_request(lambda one: text_of(one.input[-1]) == "third.")
    assert prompts(talk) == ["work.", MASKED_TEXT, "second.", "third."]


async def test_a_prompt_that_is_queued_in_that_moment_comes_behind_the_work() -> None:
    async with at(Work()) as talk:
        turn_id = await begin(talk)
        await ended(talk, turn_id)
        await talk.client.request(
            "orchestration/dispatch",
            command={
                "type": "thread.queue.add",
                "commandId": "queue-1",
                "threadId": talk.thread_id,
                "input": [{"type": "text", "text": "second."}],
            },
        )
        with anyio.fail_after(STEP_S):
            await talk.model.wait_for_request(lambda one: text_of(one.input[-1]) == "second.")
    assert prompts(talk) == ["work.", MASKED_TEXT, "second."]


async def test_a_prompt_that_the_agent_has_not_read_is_waited_for() -> None:
    work = Work()
    work.may_end = anyio.Event()
    async with at(work) as talk:
        turn_id = await begin(talk)
        with anyio.fail_after(STEP_S):
            await talk.model.wait_for_request(len(WORDS))
        await talk.client.request(
            "turn/steer",
            threadId=talk.thread_id,
            expectedTurnId=turn_id,
            input=[{"type": "text", "text": "mind this."}],
        )
        work.may_end.set()
        with anyio.fail_after(STEP_S):
            asked = await talk.model.wait_for_request(lambda one: "mind this." in str(one.input))
    assert [text_of(item) for item in shown(asked)].count("mind this.") == 1
    assert MASKED_TEXT not in str(asked.input)


async def test_a_person_who_stops_the_turn_in_that_moment_ends_the_work() -> None:
    work = Work()
    work.is_stopped = True
    async with at(work) as talk:
        turn_id = await begin(talk)
        await ended(talk, turn_id)
        await talk.client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
        await talk.prompt("next.")
        snapshot = await talk.snapshot()
    first, *stopped, last = [turn["status"] for turn in snapshot["turns"]]
    assert (first, last) == ("completed", "completed")
    assert stopped in ([], ["interrupted"])


async def test_work_that_a_person_stops_before_it_goes_on_does_not_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work()
    is_ready, is_stopped, has_answered = anyio.Event(), anyio.Event(), anyio.Event()
    begun: list[bool] = []
    ready, start = TurnStarts.ready, TurnStarts.start_automatic

    async def slow(starts: TurnStarts, thread_id: str) -> Any:
        found = await ready(starts, thread_id)
        is_ready.set()
        await is_stopped.wait()
        return found

    async def told(*given: Any) -> bool:
        begun.append(await start(*given))
        has_answered.set()
        return begun[0]

    async with at(work) as talk:
        turn_id = await begin(talk)
        monkeypatch.setattr(TurnStarts, "ready", slow)
        monkeypatch.setattr(TurnStarts, "start_automatic", told)
        with anyio.fail_after(STEP_S):
            await is_ready.wait()
        await talk.client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
        is_stopped.set()
        with anyio.fail_after(STEP_S):
            await has_answered.wait()
    assert begun == [False]


async def test_a_person_who_stops_the_work_that_goes_on_names_it_or_the_turn_before() -> None:
    work = Work()
    work.is_stopped = True
    async with at(work) as talk:
        turn_id = await begin(talk)
        next_id = await goes_on(talk, turn_id)
        await talk.client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
        done = await ended(talk, next_id)
    assert done["status"] == "interrupted"


@pytest.mark.parametrize("event", [ev.TurnCompleted, ev.ContextMasked])
async def test_a_codex_that_dies_in_that_moment_leaves_the_context_whole_or_masked(
    event: type[ev.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    async with house(work) as harness:
        codex_dies_while_writing(monkeypatch, harness, event)
        async with harness.conversation() as talk:
            await begin(talk)
            with anyio.fail_after(STEP_S):
                await talk.client.received("turn/completed")
            await talk.until_codex_answers()
            await talk.prompt("next.")
            asked = shown(talk.model.turn_requests()[-1])
    assert is_whole_or_masked(asked)
    assert [text_of(item) for item in asked][-1] == "next."


@pytest.mark.parametrize("seed", range(2 * longer()))
async def test_a_daemon_killed_in_that_moment_leaves_the_context_whole_or_masked(seed: int) -> None:
    chance = random.Random(seed)
    work = Work()
    async with house(work) as harness:
        with anyio.fail_after(SCENARIO_S):
            async with daemon_process(harness) as daemon, harness.client() as client:
                talk = await Conversation.begin(client, harness.worktree, harness.model, work)
                await begin(talk)
                await talk.model.wait_for_request(len(WORDS))
                await anyio.sleep(chance.uniform(0.3, 1.8))
                await kill(daemon)
            async with daemon_process(harness), harness.client() as client:
                talk = Conversation(client, talk.thread_id, harness.model, work)
                await talk.prompt("next.")
                asked = shown(talk.model.turn_requests()[-1])
                is_masked = "left the context" in str(asked)
                if is_masked:
                    await talk.complete("/undo")
                    await talk.prompt("back.")
                    back = shown(talk.model.turn_requests()[-1])
    assert is_whole_or_masked(asked)
    assert not is_masked or "left the context" not in str(back)


def is_whole_or_masked(items: list[dict[str, Any]]) -> bool:
    """Returns whether the outputs are all there, or all but the old ones."""
    outputs = [item for item in counted(items) if "output" in item]
    assert len(outputs) >= len(WORDS) - 1
    kept = [item["output"] != "MASKED" for item in outputs]
    return kept in ([True] * len(kept), [False] * len(OLD) + [True] * (len(kept) - len(OLD)))


async def test_masks_that_free_nothing_are_given_up() -> None:
    work = Work(tuple(f"w{number}w" for number in range(1, 4 * NEWEST_OUTPUTS)))
    work.goes_on_full = work.answers_at_once = True
    async with at(work) as talk:
        await begin(talk)
        with anyio.fail_after(STEP_S):
            await talk.client.expect(
                lambda m: (
                    m.get("method") == "warning" and m["params"]["message"] == within_turns.OFF
                )
            )
            await talk.model.wait_for_request(lambda one: len(shown(one)) > 2 * len(work.words))
    masks = [one for one in warnings(talk) if one.startswith("Masked automatically")]
    assert len(masks) == within_turns.IN_VAIN
