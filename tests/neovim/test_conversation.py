"""A conversation in the editor: prompts, commands, trims and reverts. The model's next input proves
them.
"""

import anyio
import pytest
from trimpoint.testkit import hang, held, run, say

from tests.neovim.editor import opened_editor
from tests.neovim.stage import IDLE, UNHURRIED, opened_chat

EMPTY = (
    "#(require('trimpoint.ui.chat').last_used().talk.thread or { entries = { 1 } }).entries == 0"
)
pytestmark = pytest.mark.codex


async def test_turns_are_streamed_folded_and_cleared() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer", "Two?|second answer")
        go_on = anyio.Event()
        chat.house.script.then(run("seq 1 40"), held(say("third answer"), go_on))
        await chat.type("Three?")
        await editor.shows("40 lines")
        await editor.shows("working")
        go_on.set()
        await editor.shows("third answer")
        await editor.until(IDLE)
        await editor.command("Trimpoint clear 1")
        await editor.shows("Context cleared")
        screen = await editor.shows("┊ ▸ 2 turns: One?")
        assert "Earlier messages · 4 pruned" in screen
        assert "first answer" not in screen
        await chat.turns("Four?|fourth answer")
        assert "second answer" not in chat.model_input()
        assert "third answer" in chat.model_input()
        # The fold opens, and stays so while the conversation goes on.
        await editor.command("stopinsert | wincmd k | 3")
        await editor.keys("<CR>")
        await editor.shows("first answer")
        await chat.turns("Five?|fifth answer")
        assert "first answer" in await editor.shows("fifth answer")


async def test_a_typed_command_compacts_and_undo_takes_it_back() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer", "Two?|second answer")
        await chat.type("/compact")
        await editor.shows("▎ Context compacted")
        await editor.until(IDLE)
        await chat.turns("Three?|third answer")
        assert "The gist of it all." in chat.model_input()
        await chat.type("/undo")
        await editor.shows("✓ ")
        await editor.until(IDLE)
        await chat.turns("Four?|fourth answer")
        assert "first answer" in chat.model_input()


async def test_a_revert_is_previewed_and_takes_files_and_context_back() -> None:
    async with opened_chat(repository=True) as chat:
        editor, worktree = chat.editor, chat.house.worktree
        await chat.ask("Write one.", run("echo one >made.txt"), say("written"))
        await chat.ask("Write two.", run("echo two >made.txt"), say("written again"))
        await chat.checkpoint_of(2)
        await editor.command("Trimpoint diff 2")
        await editor.shows("+two")
        await editor.keys("q")
        await editor.lua(UNHURRIED)
        await editor.command("Trimpoint revert 1")
        await editor.shows("Yes, revert")
        assert (worktree / "made.txt").read_text() == "two\n"
        await editor.keys("2<CR>")
        await editor.shows("✓ ")
        await editor.until(IDLE)
        assert (worktree / "made.txt").read_text() == "one\n"
        await chat.turns("And now?|all is well")
        assert "Write two." not in chat.model_input()
        assert "Write one." in chat.model_input()
        await editor.command("Trimpoint revert 1")
        await editor.shows("Yes, revert")
        await editor.keys("1<CR>")
        await editor.history_has("And now?")


async def test_new_continues_in_an_empty_thread_of_the_same_chat() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        await editor.command("Trimpoint new")
        await editor.until(EMPTY)
        await chat.turns("Two?|second answer")
        assert "first answer" not in chat.model_input()


async def test_a_selection_is_asked_about_with_its_place() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        (chat.house.worktree / "code.py").write_text("a = 1\nb = 2\nc = 3\n")
        chat.house.script.then(say("it is two"))
        await editor.command("wincmd h | edit code.py | set ft=python")
        await editor.keys("2GV")
        await editor.keys(":Trimpoint ask What is this?<CR>")
        await editor.history_has("it is two")
        sent = chat.model_input()
        assert "What is this?\\n\\ncode.py, lines 2 to 2:\\n```python\\nb = 2\\n```" in sent


async def test_the_context_can_be_looked_at_and_the_thread_searched() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|An answer.\n\nIt has theNeedle in a haystack", "Two?|second answer")
        await editor.command("Trimpoint! clear")
        await editor.shows("✓ ")
        await editor.command("Trimpoint search haystack needle")
        await editor.shows("[Location List] trimpoint: haystack needle")
        [found] = await editor.lua("return vim.fn.getloclist(0)")
        assert (
            found["text"] == "turn 1, assistant, pruned: An answer. It has theNeedle in a haystack"
        )
        assert (await editor.history())[found["lnum"] - 1] == "It has theNeedle in a haystack"
        await editor.command("Trimpoint context")
        await editor.shows("instructions")


async def test_the_thread_of_the_folder_is_opened_again() -> None:
    async with opened_chat() as chat:
        await chat.turns("One?|first answer")
        environment = chat.house.with_program_on_path()
        async with opened_editor(environment, chat.house.worktree) as other:
            await other.command("Trimpoint chat")
            await other.shows("first answer")
            # What one client does, the other sees.
            await chat.turns("Two?|second answer")
            await other.shows("second answer")
        # A window that opens in mid-turn shows what was said so far.
        chat.house.script.then(hang("half an answer"))
        await chat.type("Three?")
        await chat.editor.history_has("half an answer")
        async with opened_editor(environment, chat.house.worktree) as other:
            await other.command("Trimpoint chat")
            await other.shows("half an answer")
            await other.command("Trimpoint interrupt")
            await other.shows("■ The turn was interrupted.")
            assert "half an answer" in await chat.editor.history()


async def test_room_is_made_at_the_turn_under_the_cursor_after_a_preview() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer", "Two?|second answer", "Three?|third answer")
        await editor.lua(UNHURRIED)
        await editor.command("Trimpoint timeline")
        await editor.keys("gg/second answer<CR>x")
        await editor.shows("Make room at turn 2")
        await editor.keys("2<CR>")
        await editor.shows("Yes, clear")
        await editor.keys("1<CR>")
        await editor.until(IDLE)
        await editor.keys("gg/second answer<CR>x")
        await editor.shows("Make room at turn 2")
        await editor.keys("2<CR>")
        await editor.shows("Yes, clear")
        await editor.keys("2<CR>")
        await editor.shows("4 taken out above")
        await chat.turns("Four?|fourth answer")
        has = [f"{one} answer" in chat.model_input() for one in ("first", "second", "third")]
        assert has == [False, False, True]
        await editor.command("Trimpoint timeline")
        await editor.keys("gg/third answer<CR>V/fourth answer<CR>x")
        await editor.shows("Make room: turns 3 to 4")
        await editor.keys("<Esc>")


async def test_a_handoff_and_the_thread_it_began_lead_to_each_other() -> None:
    async with opened_chat() as chat:
        editor = chat.editor
        await chat.turns("One?|first answer")
        chat.house.script.then(say("The tests are open."))
        await chat.type("/handoff write the tests")
        await editor.shows("/accept draft:")
        chat.house.script.then(say("I begin."))
        await editor.keys("<Esc><CR>")
        await editor.history_has("I begin.")
        await editor.history_has("From One?")
        await editor.command("Trimpoint timeline")
        await editor.keys("gg/From One<CR><CR>")
        await editor.history_has("first answer")
        await editor.history_has("Handed off to write the tests")
        await editor.keys("gg/Handed off<CR><CR>")
        await editor.history_has("I begin.")
