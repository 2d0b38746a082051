"""A day in the chat by mouse alone: only the letters of prompts are typed."""

import anyio
import pytest
from trimpoint.testkit import held, run, say

from tests.chat.piloted import Piloted, piloted
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex

SEND = "Enter sends"


async def sends(chat: Piloted, prompt: str) -> None:
    """Types a prompt, and sends it by a click."""
    chat.composer.insert(prompt)
    await chat.clicks(SEND)


async def takes(chat: Piloted, usage: str) -> None:
    """Takes a command out of the menu by clicks, once its name is typed in part."""
    chat.composer.insert(usage[:4])
    await chat.shows(f"❯ {usage}")
    await chat.clicks(f"❯ {usage}")


async def is_at_rest(chat: Piloted) -> None:
    """Returns once no turn runs; while one does, Enter tells the agent more."""
    await chat.shows(lambda _: chat.state.busy is None and not chat.state.outgoing)


async def test_a_question_is_answered_and_a_notice_closed_by_mouse(stage: CliHarness) -> None:
    stage.script.then(say("Ready."), run("echo new > made.txt"), say("It is made."))
    async with stage.daemon():
        words = ["ask", "-a", "untrusted", "-s", "workspace-write", "prompt-1."]
        assert (await stage.run(*words)).code == 0
        thread_id = (await stage.run("threads", "--json")).json()["threads"][0]["id"]
        async with piloted(stage.socket, stage.worktree, thread_id) as chat:
            await chat.shows("Ready.")
            await sends(chat, "prompt-2.")
            await chat.clicks("Tab goes here")
            await chat.shows("Enter answers")
            await chat.clicks("Tab goes back")
            await chat.clicks("y yes")
            await chat.shows("❯ y yes")  # chosen, and not taken yet
            assert chat.state.question is not None
            while "It is made." not in chat.screen:  # within the first half second none is taken
                if "y yes" in chat.screen:
                    await chat.clicks("y yes")
                await chat.pilot.pause(0.05)
            await is_at_rest(chat)
            await sends(chat, "/clear 1")
            await chat.shows("To undo")
            while "×" in chat.screen:  # what is below it may come and go meanwhile
                await chat.clicks("×")
                await chat.pilot.pause(0.05)
            await takes(chat, "/timeline")
            await sends(chat, "")
            await takes(chat, "/quit")
            await chat.shows(lambda _: chat.app.return_code is not None)


async def test_a_turn_is_told_more_and_prompts_are_queued_by_mouse(stage: CliHarness) -> None:
    goes_on = anyio.Event()
    stage.script.then(say("Begun."), held(say("Second."), goes_on), say("Told."), say("Queued."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.clicks("/ for commands")
        await chat.shows("❯ /context")
        await chat.presses("backspace")
        await sends(chat, "prompt-1.")
        await chat.shows("Begun.")
        await is_at_rest(chat)
        await sends(chat, "prompt-2.")
        await stage.model.wait_for_request(lambda request: request.mentions("prompt-2."))
        await chat.clicks("Begun.")  # the conversation has the keys now
        chat.composer.insert("prompt-3.")
        await chat.clicks("tells the agent")
        await chat.shows("not read yet prompt-3.")
        chat.composer.insert("prompt-4.")
        await chat.clicks("Enter queues")
        await chat.shows("next prompt-4.")
        await chat.clicks("changes")
        await chat.clicks("edits")
        await chat.shows(lambda _: chat.composer.text == "prompt-4.")
        await chat.clicks("Enter queues")
        await chat.shows("next prompt-4.")
        goes_on.set()
        await chat.shows("Queued.")
        await is_at_rest(chat)
        await takes(chat, "/model")
        await chat.clicks("closes")
        await chat.clicks("[Context")
        await chat.clicks("closes")
