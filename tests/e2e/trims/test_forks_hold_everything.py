"""A fork holds what its origin holds, of every kind of item, whatever was done before the fork and
is done and taken back in it.
"""

import anyio
import pytest
from trimpoint.testkit import http_error, reasoning, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, pieces

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]

# Done to the origin before it is forked.
BEFORE = {
    "nothing": (),
    "a clear": ("/clear 3",),
    "a clear undone": ("/clear 4", "/undo"),
    "a clear to nothing": ("/clear",),
    "a clear to nothing undone": ("/clear", "/undo"),
    "a compaction": ("/compact --keep 2 --force",),
    "a compaction undone": ("/compact --keep 3 --force", "/undo"),
    "a note": ("/pin Python 3.8 only",),
    "a note before a clear": ("/pin Python 3.8 only", "/clear 2"),
    "a pinned turn": ("/pin 2", "/clear 2"),
    "pins, a compaction": ("/pin 1", "/pin Tabs", "/pin 3", "/compact --keep 1 --force"),
    "a revert": ("/revert 4 --context",),
    "a revert undone": ("/revert 4 --context", "/revert --undo"),
    "a new thread": ("/pin 2", "/pin Tabs", "/new --pins"),
}
# Done in forks, each one's steps after each other; behind each step the context is what it was.
AND_BACK = (
    (("/clear", "/undo"), ("/revert --context", "/revert --undo")),
    (("/compact --force", "/undo"), ("/pin Spaces", "/unpin")),
    (("/revert --context", "/revert --undo"), ("/clear 1", "/undo", "/undo --redo", "/undo")),
)


async def interrupted_in_a_command(talk: Conversation) -> None:
    """Runs a turn that a person interrupts in a command."""
    talk.turns += 1
    talk.script.then(say("Let me see.") + run("sleep 60"))
    started = await talk.client.request(
        "turn/start",
        threadId=talk.thread_id,
        input=[{"type": "text", "text": f"prompt-{talk.turns}."}],
    )
    turn_id = started["turn"]["id"]
    with anyio.fail_after(STEP_S):
        await talk.client.expect(
            lambda one: (
                one.get("method") == "item/started"
                and one["params"]["turnId"] == turn_id
                and one["params"]["item"]["type"] == "commandExecution"
            )
        )
        await talk.client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
        await talk.client.expect(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            )
        )


async def every_kind_of_item(talk: Conversation) -> None:
    talk.script.then(reasoning("hm", encrypted_content="SEALED") + run("echo thought"))
    await talk.turn()
    await interrupted_in_a_command(talk)
    await talk.turn(tool=True)
    await talk.inject("INJECTED")
    talk.script.then(http_error(400, "no"))
    talk.turns += 1
    await talk.prompt(f"prompt-{talk.turns}.")
    await talk.turn()


async def typed(talk: Conversation, commands: tuple[str, ...]) -> Conversation:
    """Types the commands, and returns the conversation with the thread that is there then."""
    for text in commands:
        outcome = await talk.type(text)
        assert outcome["status"] == "completed", (text, outcome)
        if (new := outcome.get("newThreadId")) is not None:
            turns, talk = talk.turns, Conversation(talk.client, new, talk.model, talk.script)
            talk.turns = turns
    return talk


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
async def test_what_is_taken_back_in_a_fork_leaves_it_the_context_of_its_origin(
    harness: Harness, before: tuple[str, ...]
) -> None:
    async with harness.conversation() as talk:
        await every_kind_of_item(talk)
        talk = await typed(talk, before)
        await talk.turn(tool=True)
        forks = [(await talk.fork(), steps) for steps in AND_BACK]
        origin = pieces((await talk.turn()).input)
        for fork, steps in forks:
            shown = origin
            for step in steps:
                await typed(fork, step)
                assert pieces((await fork.turn()).input) == shown, step
                answered, asked = f"answer-{fork.turns}.", f"prompt-{fork.turns + 1}."
                shown = [*shown, Piece("assistant", answered), Piece("user", asked)]


async def test_a_fork_of_a_fork_holds_a_pinned_turn_once(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await every_kind_of_item(talk)
        await typed(talk, ("/pin 2", "/clear"))
        await talk.turn(tool=True)
        await talk.turn()
        await typed(talk, ("/revert 1 --context", "/revert --undo"))
        fork = await (await talk.fork()).fork()
        await typed(fork, ("/clear", "/undo"))
        assert pieces((await fork.turn()).input) == pieces((await talk.turn()).input)


async def test_a_fork_at_a_pruned_turn_holds_what_was_pinned_there(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await every_kind_of_item(talk)
        await typed(talk, ("/pin Tabs", "/clear 1"))
        turns = (await talk.snapshot())["turns"]
        fork = await talk.fork(lastTurnId=turns[1]["id"])
        shown = pieces((await fork.turn()).input)
        await typed(fork, ("/clear", "/undo"))
        again = pieces((await fork.turn()).input)
    assert shown[0] == Piece("user", "<pinned-note>Tabs</pinned-note>")
    assert again[: len(shown)] == shown
