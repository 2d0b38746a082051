"""Nothing that is typed is lost: it stays in the prompt until the daemon has it, and on disk until
then; what waits is in the daemon's queue.
"""

import anyio
import pytest
from trimpoint.testkit import ModelRequest, Reply, hang, held, say

from tests.cli.stage import opened_stage
from tests.deadlines import STEP_S
from tests.neovim.editor import opened_editor
from tests.neovim.stage import IDLE, OPENED, Chat, configure, opened_chat

pytestmark = pytest.mark.codex

PROMPT = """
local chat = require("trimpoint.ui.chat").last_used()
return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), "\\n")
"""
THREAD = "require('trimpoint.ui.chat').last_used().talk.thread"
ONE_WAITS = f"#{THREAD}.queue == 1"
KEPT = f"(require('trimpoint.client.kept').read({THREAD}.id) or {{}})"
DRAFTS = "state/nvim/trimpoint/drafts"


async def prompt_is(chat: Chat, wanted: str) -> None:
    with anyio.fail_after(STEP_S):
        while await chat.editor.lua(PROMPT) != wanted:
            pass


async def test_enter_steers_the_running_turn() -> None:
    async with opened_chat() as chat:
        go_on = anyio.Event()
        chat.house.script.then(held(say("first answer"), go_on), say("steered answer"))
        await chat.type("One?")
        await chat.editor.shows("<CR> steers · <M-CR> queues")
        await chat.type("No, two!", "<CR>")
        await prompt_is(chat, "")
        await chat.editor.shows("❯ not read yet: No, two!")
        go_on.set()
        await chat.editor.history_has("steered answer")
        await chat.editor.shows(lambda screen: "not read yet" not in screen)
        assert "No, two!" in chat.model_input()
        turns = await chat.editor.lua(
            "return require('trimpoint.ui.chat').last_used().talk.thread.turn_count"
        )
        assert turns == 1


async def test_queued_prompts_are_seen_edited_moved_and_taken_back() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        go_on = anyio.Event()
        chat.house.script.then(held(say("first answer"), go_on), say("second answer"))
        await chat.type("One?")
        await editor.shows("steers")
        for words in ("Two?", "Three?", "Four?"):
            await chat.type(words, "<M-CR>")
            await editor.history_has(f"… waits: {words}")
        # The last one is moved up, the second taken back, the first edited.
        await editor.command("Trimpoint queue")
        await editor.shows("Prompts that wait")
        await editor.keys("3<CR>")
        await editor.shows("Move it up")
        await editor.keys("3<CR>")
        await editor.history_has("… waits: Four?\n… waits: Three?")
        await editor.command("Trimpoint queue")
        await editor.shows("Prompts that wait")
        await editor.keys("3<CR>")
        await editor.shows("Take it back")
        await editor.keys("2<CR>")
        await prompt_is(chat, "Three?")
        await editor.until(f"not ({ONE_WAITS}) and {THREAD}.queue[3] == nil")
        await editor.command("Trimpoint queue")
        await editor.shows("Prompts that wait")
        await editor.keys("2<CR>")
        await editor.shows("Take it back")
        await editor.keys("2<CR>")
        await prompt_is(chat, "Four?\nThree?")
        await editor.until(ONE_WAITS)
        await editor.command("Trimpoint queue")
        await editor.shows("Edit it where")
        await editor.keys("1<CR>")
        await editor.until("vim.bo.filetype == 'trimpoint_queued'")
        await editor.keys("ccNumber two?<Esc>:write<CR>")
        await editor.history_has("… waits: Number two?")
        await editor.command("quit")
        go_on.set()
        await editor.history_has("second answer")
        await editor.until(IDLE)
        assert "Number two?" in chat.model_input()
        assert await editor.lua(PROMPT) == "Four?\nThree?"


async def test_an_interrupt_holds_the_queue_until_a_person_sends_it() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        chat.house.script.then(hang("thinking aloud"), say("second answer"))
        await chat.type("One?")
        await editor.shows("thinking aloud")
        await chat.type("Two?", "<M-CR>")
        await editor.history_has("… waits: Two?")
        await editor.command("Trimpoint interrupt")
        await editor.shows("The queue waits because the turn was interrupted.")
        # What was said stays.
        assert "thinking aloud" in await editor.history()
        await editor.command("Trimpoint queue")
        await editor.shows("Send it now")
        await editor.keys("3<CR>")
        await editor.history_has("second answer")
        assert "■ The turn was interrupted." in await editor.history()


async def test_what_the_agent_has_not_read_when_the_turn_is_stopped_comes_back() -> None:
    release = anyio.Event()
    async with opened_chat() as chat:
        editor = chat.editor
        chat.house.script.then(held(say("never said"), release))
        await chat.type("One?")
        await editor.shows("<CR> steers")
        await chat.type("No, two!", "<CR>")
        await prompt_is(chat, "")
        await editor.until("#(require('trimpoint.ui.chat').last_used().talk.told or {}) == 1")
        await editor.command("Trimpoint interrupt")
        await editor.shows("■ The turn was interrupted.")
        await prompt_is(chat, "No, two!")
        release.set()


async def test_a_draft_survives_the_end_of_the_editor_and_the_daemon() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path() | {"XDG_STATE_HOME": str(house.folder / "state")}
        async with house.daemon_alone():
            async with opened_editor(environment, house.worktree) as editor:
                chat = Chat(house, editor)
                await editor.command("Trimpoint chat")
                await editor.until(OPENED)
                await chat.turns("One?|first answer")
                await editor.command("Trimpoint chat")
                await editor.keys("ihalf a thought")
                await prompt_is(chat, "half a thought")
            [kept] = (house.folder / DRAFTS).iterdir()
            assert kept.stat().st_mode & 0o777 == 0o600
            assert kept.parent.stat().st_mode & 0o777 == 0o700
        async with house.daemon_alone(), opened_editor(environment, house.worktree) as editor:
            chat = Chat(house, editor)
            await editor.command("Trimpoint chat")
            await editor.until(OPENED)
            await prompt_is(chat, "half a thought")
            house.script.then(say("second answer"))
            await editor.keys("<Esc><CR>")
            await editor.history_has("second answer")
            await prompt_is(chat, "")
            assert list((house.folder / DRAFTS).iterdir()) == []


async def test_what_was_told_and_not_read_survives_a_crash_of_the_editor() -> None:
    release = anyio.Event()
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path() | {"XDG_STATE_HOME": str(house.folder / "state")}
        async with house.daemon_alone():
            async with opened_editor(environment, house.worktree) as editor:
                chat = Chat(house, editor)
                await editor.command("Trimpoint chat")
                await editor.until(OPENED)
                house.script.then(held(say("first answer"), release), say("second answer"))
                await chat.type("One?")
                await editor.shows("<CR> steers")
                await chat.type("No, two!", "<CR>")
                await prompt_is(chat, "")
                await editor.until(f"vim.tbl_get({KEPT}, 'sending', 1, 'text') == 'No, two!'")
            release.set()
            async with opened_editor(environment, house.worktree) as editor:
                chat = Chat(house, editor)
                await editor.command("Trimpoint chat")
                await editor.until(OPENED)
                await prompt_is(chat, "No, two!")


async def test_what_is_typed_without_a_daemon_is_sent_when_it_is_back() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        await editor.lua(
            """
            local session = require("trimpoint.client.session")
            _G.request = session.request
            session.request = function()
              return nil, { message = "gone", reason = "disconnected" }
            end
            """
        )
        await chat.type("Two?")
        await editor.shows("not sent yet")
        assert await editor.lua(PROMPT) == "Two?"
        await editor.keys("A and three?")
        await editor.lua("require('trimpoint.client.session').request = _G.request")
        chat.house.script.then(say("second answer"))
        await editor.lua("require('trimpoint.ui.chat').last_used():go_on_sending()")
        await editor.history_has("second answer")
        await prompt_is(chat, "and three?")


async def test_what_is_stopped_before_its_turn_has_begun_is_not_done() -> None:
    def answer(request: ModelRequest) -> Reply:  # the model may never be asked about the second
        is_third = request.mentions("Three?")
        return say("third answer") if is_third else held(say("not wanted"), anyio.Event())

    async with opened_chat() as chat:
        await chat.turns("One?|first answer")
        chat.house.script.then(answer, answer)
        # In one go, so that no answer of the daemon comes in between.
        await chat.type("Two?", "<C-s><C-\\><C-n><C-c>")
        await chat.editor.history_has("■ The turn was interrupted.")
        await chat.type("Three?")
        await chat.editor.history_has("third answer")


async def test_an_opened_conversation_goes_along_with_what_comes() -> None:
    async with opened_stage() as house:
        configure(house)
        async with house.daemon_alone():
            assert (await house.run("ask", "One?")).code == 0
            environment = house.with_program_on_path()
            async with opened_editor(environment, house.worktree) as editor:
                await editor.command("Trimpoint chat")
                await editor.until(OPENED)
                await editor.history_has("reply 1")
                house.script.then(say("Another line.\n\n" * 80 + "The end of it."))
                await editor.keys("iTwo?<C-s>")
                await editor.shows("The end of it.")
