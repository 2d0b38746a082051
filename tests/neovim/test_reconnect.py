"""The daemon ends and comes back: the chat reports it and continues."""

import pytest
from trimpoint.testkit import hang, say

from tests.cli.stage import opened_stage
from tests.neovim.editor import opened_editor
from tests.neovim.stage import Chat, configure

pytestmark = pytest.mark.codex


async def test_a_chat_continues_when_the_daemon_has_been_restarted() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        async with opened_editor(environment, house.worktree) as editor:
            chat = Chat(house, editor)
            async with house.daemon_alone():
                await editor.command("Trimpoint chat")
                await editor.shows("Ask, or type")
                await chat.turns("One?|first answer")
            await editor.history_has("Not connected to the daemon")
            async with house.daemon_alone():
                await editor.until("require('trimpoint.client.session').state() == 'ready'")
                await chat.turns("Two?|second answer")
                history = await editor.history()
                assert "first answer" in history
                assert not any("Not connected" in line for line in history)
            house.script.then(say("third answer"))
            # A prompt starts the daemon anew.
            await editor.history_has("Not connected to the daemon")
            await chat.type("Three?")
            await editor.history_has("third answer")


async def test_a_prompt_is_sent_after_the_daemon_was_killed_in_mid_turn() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        async with opened_editor(environment, house.worktree) as editor:
            chat = Chat(house, editor)
            async with house.serving() as serve:
                await editor.command("Trimpoint chat")
                await editor.shows("Ask, or type")
                await chat.turns("One?|first answer")
                house.script.then(hang("half an answer"))
                await chat.type("Two?")
                await editor.history_has("half an answer")
                serve.process.kill()
                await editor.history_has("Not connected to the daemon")
                house.script.then(say("third answer"))
                await chat.type("Three?")
                await editor.history_has("third answer")
                assert not any("… waits" in line for line in await editor.history())
