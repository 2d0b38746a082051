"""Model and permissions are seen and changed; threads that wait are seen from elsewhere."""

import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.testkit import run, say

from tests.neovim.stage import ASKING, IDLE, REQUEST, UNHURRIED, opened_chat

pytestmark = pytest.mark.codex

CHATS = "require('trimpoint.ui.chat')"
LINE = "require('trimpoint.model.settings').line(require('trimpoint.ui.chat').last_used().talk.settings)"


async def test_model_and_permissions_are_shown_and_changed() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        await editor.shows("no sandbox · never ask")
        await editor.command("Trimpoint permissions")
        await editor.shows("What the agent may touch")
        await editor.keys("1<CR>")
        await editor.shows("When it asks")
        await editor.keys("2<CR>")
        await editor.shows("read only · ask when the agent wants more")
        # What holds the agent back no longer is asked for once more.
        await editor.lua(UNHURRIED)
        await editor.command("Trimpoint permissions")
        await editor.shows("What the agent may touch")
        await editor.keys("3<CR>")
        await editor.shows("When it asks")
        await editor.keys("2<CR>")
        await editor.shows("Yes, I want that")
        await editor.keys("1<CR>")
        assert "read only" in await editor.lua(f"return {LINE}")
        offered = await editor.lua(REQUEST, "model/list", {})
        first = next(one for one in offered["data"] if not one["hidden"])
        await editor.command("Trimpoint model")
        await editor.shows(f"1:   {first['displayName']}")
        await editor.keys("1<CR>")
        await editor.shows("Effort")
        await editor.keys("1<CR>")
        await editor.history_has("The next turn has this model")
        await editor.until(f"{CHATS}.last_used().talk.settings.model == '{first['model']}'")


async def test_a_thread_that_asks_and_is_not_open_is_reported_and_counted() -> None:
    async with opened_chat() as chat:
        editor, house = chat.editor, chat.house
        await chat.turns("One?|first answer")
        house.script.then(run("touch made.txt"), say("done"))
        async with connect(house.socket) as other:
            await other.initialize("test")
            started = await other.request("thread/start", cwd=str(house.worktree), **ASKING)
            thread_id = started["thread"]["id"]
            prompt = [{"type": "text", "text": "Make it."}]
            await other.request("turn/start", threadId=thread_id, input=prompt)
            await editor.shows("? 1 elsewhere")
            told = f"“{house.worktree.name}”: The agent asks for an answer. :Trimpoint! threads"
            await editor.until(f"vim.fn.execute('messages'):find({told!r}, 1, true) ~= nil")
            assert "1 waits for you" in await editor.lua("return require('trimpoint').statusline()")
            await editor.command("Trimpoint threads")
            await editor.shows("? asks")
            await editor.keys("1<CR>")
            await editor.until(f"{CHATS}.last_used().talk.id == '{thread_id}'")
            await editor.until(f"#{CHATS}.last_used().talk.questions == 1")
            assert "waits for you" not in await editor.lua(
                "return require('trimpoint').statusline()"
            )


async def test_clear_without_a_number_lets_the_person_choose_what_is_kept() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer", "Two?|second answer")
        await chat.type("/clear --force")
        await editor.shows("Keep the last turn: Two?")
        await editor.keys("2<CR>")
        await editor.shows("Context cleared")
        await chat.turns("Three?|third answer")
        assert "second answer" in chat.model_input()
        assert "first answer" not in chat.model_input()


async def test_an_unknown_command_is_refused_with_the_nearest_name_and_stays() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        before = len(chat.house.model.turn_requests())
        await chat.type("/claer 3")
        await editor.shows("/clear 3")
        assert len(chat.house.model.turn_requests()) == before
        assert await editor.lua("return vim.api.nvim_get_current_line()") == "/claer 3"


async def test_a_failed_turn_says_why_and_can_be_tried_again() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        await editor.lua(
            """
            local talk = require("trimpoint.ui.chat").last_used().talk
            local id = require("trimpoint.client.session") and next(talk.thread.turns)
            talk.thread.turns[id].status, talk.thread.turns[id].error = "failed", "no model"
            talk.thread.revision = talk.thread.revision + 1
            require("trimpoint.ui.chat").last_used():draw()
            """
        )
        await editor.shows("✗ The turn failed: no model")
        chat.house.script.then(say("second answer"))
        await editor.command("stopinsert | wincmd k")
        await editor.lua("vim.fn.search('sends the prompt again')")
        await editor.keys("<CR>")
        await editor.history_has("second answer")
        await editor.until(IDLE)
        assert chat.model_input().count("One?") == 2
