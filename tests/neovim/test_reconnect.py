"""The daemon ends and comes back: the chat reports it and continues."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import anyio.abc
import pytest
from trimpoint.testkit import hang, say

from tests.cli.stage import Running, opened_stage
from tests.neovim.editor import opened_editor
from tests.neovim.stage import Chat, configure

pytestmark = pytest.mark.codex

SESSION = "require('trimpoint.client.session')"
NOTHING_WAITS = "#require('trimpoint.ui.chat').last_used().sending == 0"


@contextmanager
def stopped(serve: Running) -> Generator[None]:
    """Has a daemon say nothing while the block runs."""
    serve.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        serve.process.send_signal(signal.SIGCONT)


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
                await editor.until(NOTHING_WAITS)


async def test_a_prompt_starts_a_daemon_when_one_ends_that_still_took_the_connection() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        async with opened_editor(environment, house.worktree) as editor:
            chat, is_taken, is_over = Chat(house, editor), anyio.Event(), anyio.Event()

            async def end(connection: anyio.abc.ByteStream) -> None:
                is_taken.set()
                await is_over.wait()
                await connection.aclose()

            async with house.daemon_alone():
                await editor.command("Trimpoint chat")
                await editor.shows("Ask, or type")
                await chat.turns("One?|first answer")
            await editor.history_has("Not connected to the daemon")
            async with (
                await anyio.create_unix_listener(house.socket) as ending,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(ending.serve, end)
                await is_taken.wait()
                house.script.then(say("second answer"))
                await chat.type("Two?")
                await editor.until(f"not ({NOTHING_WAITS})")
                house.socket.unlink()
                is_over.set()
                await editor.history_has("second answer")
                tasks.cancel_scope.cancel()


async def test_it_is_said_that_a_daemon_does_not_answer_and_it_is_awaited() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        async with opened_editor(environment, house.worktree) as editor, house.serving() as serve:
            await editor.lua(f"{SESSION}.GREETING_MS = 1000")
            with stopped(serve):
                await editor.command("Trimpoint chat")
                await editor.shows("waiting for the daemon")
                await editor.shows("The connection to the trimpoint daemon was lost")
            await editor.until(f"{SESSION}.state() == 'ready'")
            await editor.shows(lambda screen: "waiting for the daemon" not in screen)
            await Chat(house, editor).turns("One?|first answer")


async def test_what_is_said_while_the_daemon_starts_goes_when_it_has() -> None:
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        async with opened_editor(environment, house.worktree) as editor, house.serving() as serve:
            with stopped(serve):
                await editor.command("Trimpoint chat")
                await editor.shows("waiting for the daemon")
            await editor.until(f"{SESSION}.state() == 'ready'")
            await editor.shows(lambda screen: "waiting for the daemon" not in screen)
