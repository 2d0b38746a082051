"""A draft in the chat: it stands where prompts are typed, to be changed and sent, or deleted."""

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.chat.piloted import piloted
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


async def test_a_drafted_summary_is_changed_in_the_line_and_accepted(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")
        async with piloted(stage.socket, stage.worktree, thread) as chat:
            await chat.types("/compact --edit --keep 1")
            await chat.shows("The gist of it all.")
            assert chat.composer.text.startswith("/accept draft:")
            await chat.types(" In my words.")
            await chat.shows("Context compacted")
            assert chat.composer.text == ""
        await stage.turn(client, thread, "prompt-4.")
    seen = stage.model.turn_requests()[-1]
    assert seen.mentions("The gist of it all. In my words.")
    assert (seen.mentions("prompt-3."), seen.mentions("prompt-2.")) == (True, False)


async def test_what_is_typed_while_a_summary_is_drafted_stays_and_the_draft_comes_by_a_key(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")
        may_come = anyio.Event()
        stage.script.at_compaction(held(say(stage.script.summary), may_come))
        async with piloted(stage.socket, stage.worktree, thread) as chat:
            await chat.types("/compact --edit --keep 1", "enter", "h", "a", "l", "f")
            may_come.set()
            await chat.shows("brings the draft")
            assert chat.composer.text == "half"
            await chat.presses("backspace", "backspace", "backspace", "backspace", "up")
            await chat.shows("The gist of it all.")
            assert chat.composer.text.startswith("/accept draft:")


async def test_a_drafted_brief_begins_a_new_thread_that_the_chat_goes_on_with(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        stage.script.then(say("The tests are open."), say("I begin with them."))
        async with piloted(stage.socket, stage.worktree, thread) as chat:
            await chat.types("/handoff write the tests")
            await chat.shows("The tests are open.")
            await chat.types(" Read a.py.")
            await chat.shows("I begin with them.")
            assert chat.state.thread_id != thread
    assert not stage.model.turn_requests()[-1].mentions("prompt-1.")
