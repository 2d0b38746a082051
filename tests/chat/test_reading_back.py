"""Reading a long thread in the chat: its beginning by one key, and what is new below."""

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.chat.piloted import piloted
from tests.cli.stage import CliHarness

LONG = "\n\n".join(f"line-{number}" for number in range(60))


@pytest.mark.codex
async def test_who_has_scrolled_up_is_told_what_is_new_and_goes_there_by_a_key(
    stage: CliHarness,
) -> None:
    release = anyio.Event()
    stage.script.then(say(LONG), held(say("the newest."), release))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("line-59")
        await chat.shows(lambda _: chat.state.busy is None and not chat.state.outgoing)
        await chat.types("prompt-2.")
        await chat.shows("prompt-2.")
        await stage.model.wait_for_request(lambda request: request.mentions("prompt-2."))
        await chat.presses("ctrl+home")
        await chat.shows("prompt-1.")
        await chat.shows("line-0")
        assert "new below" not in chat.screen
        release.set()
        await chat.shows("↓ new below")
        await chat.clicks("goes there")
        await chat.shows("the newest.")
        await chat.shows(lambda screen: "new below" not in screen)
