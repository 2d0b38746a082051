"""SIGKILL of the daemon at random instants of `/handoff` and of its acceptance (docs/spec/context.md).

There is a new thread for each brief that was accepted and no other, each begins with its brief, once,
and the old thread is what it was. `TRIMPOINT_E2E_LONG=n` kills n times as often.
"""

import random
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client, ConnectionLost
from trimpoint.testkit import codex_overrides, say
from trimpoint.threads.ids import new_uuid7

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import longer, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon_process import daemon_process, kill

pytestmark = pytest.mark.codex

SEEDS = range(longer())
KILLS = 6
LONGEST_S = 0.4
CUT = ["interrupted"]


async def handoffs(client: Client, thread_id: str) -> list[str]:
    found = await client.request("orchestration/snapshot", threadId=thread_id)
    return [one["threadId"] for one in found["thread"]["handoffs"]]


async def prompts(client: Client, thread_id: str) -> list[str]:
    """Returns the prompts of a thread, once its first turn has ended and nothing waits."""
    await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
    with anyio.fail_after(STEP_S):
        while True:
            found = (await client.request("orchestration/snapshot", threadId=thread_id))["thread"]
            page = await client.request("timeline/read", threadId=thread_id)
            said = [one["text"] for one in page["entries"] if one.get("role") == "user"]
            statuses = [turn["status"] for turn in found["turns"]]
            # Of a turn that was killed in its first instant Codex knows no prompt.
            if not found["queue"] and ((said and "running" not in statuses) or statuses == CUT):
                return said
            await anyio.sleep(0.02)


async def strike(talk: Conversation, daemon: Any, chance: random.Random, command: Any) -> None:
    """Gives a command, and kills the daemon at a random instant."""
    with anyio.move_on_after(chance.random() * LONGEST_S):
        try:
            full = {**command, "commandId": new_uuid7(), "threadId": talk.thread_id}
            await talk.client.request("orchestration/dispatch", command=full)
            await anyio.sleep_forever()
        except ConnectionLost:
            pass
    await kill(daemon)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_while_it_hands_off_has_begun_a_thread_with_its_brief_or_none(
    seed: int,
) -> None:
    script, chance = AnswersByPrompt(), random.Random(seed)
    async with opened_harness(codex_overrides, script) as harness:
        thread_id, accepted = "", list[str]()
        for number in range(KILLS + 1):
            async with daemon_process(harness) as daemon, harness.client() as client:
                with anyio.fail_after(SCENARIO_S):
                    if not thread_id:
                        begun = await Conversation.begin(
                            client, harness.worktree, harness.model, script
                        )
                        thread_id = begun.thread_id
                    talk = Conversation(client, thread_id, harness.model, script)
                    made = await handoffs(client, thread_id)
                    listed = await client.request("orchestration/snapshot")
                    ids = {one["id"] for one in listed["threads"]} - {thread_id}
                    assert ids == set(made), (ids, made)
                    begun_with = [await prompts(client, new_id) for new_id in made]
                    assert all(len(said) <= 1 for said in begun_with), begun_with
                    said = [one for said in begun_with for one in said]
                    assert said == [one for one in accepted if one in said], (said, accepted)
                    script.when(f"prompt-{number}.", say(f"answer-{number}."))
                    await talk.prompt(f"prompt-{number}.")
                    shown = talk.asked(f"prompt-{number}.")
                    assert all(shown.mentions(f"prompt-{one}.") for one in range(number))
                    if chance.random() < 0.3:
                        await strike(talk, daemon, chance, {"type": "thread.handoff.draft"})
                        continue
                    drafted = await talk.type("/handoff")
                    assert drafted["draft"]["text"] == script.summary, drafted
                    brief = f"brief-{number}."
                    script.when(brief, say("I begin."))
                    accepted.append(brief)
                    command = {"type": "thread.draft.accept", "text": brief}
                    await strike(talk, daemon, chance, command)
