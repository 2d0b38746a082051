"""The real program in a pseudo-terminal, on the real daemon and the real Codex."""

import pytest
from trimpoint.testkit import run, say

from tests.chat.terminal import chat, in_git
from tests.cli.stage import CliHarness
from tests.tui.terminal import program_in_terminal

pytestmark = pytest.mark.codex

CTRL_O, CTRL_R, CTRL_T = "\x0f", "\x12", "\x14"
HOSTILE = "[bold]kept[/bold] \x1b[31mplain\x1b[0m \u202ecalm List<T>"


async def test_a_conversation_is_held_cleared_and_found_again(stage: CliHarness) -> None:
    stage.script.then(run("echo out-of-the-shell"), say("A **first** answer."), say(HOSTILE))
    async with stage.serving():
        async with chat(stage) as terminal:
            await terminal.types("prompt-1.")
            await terminal.shows("A first answer.")
            await terminal.shows(lambda text: "[Context:" in text and "[tokens:" in text)
            await terminal.types("/cle", enter=False)
            await terminal.shows("/clear [N]")
            await terminal.types("")
            await terminal.types("")
            await terminal.shows("2 pruned")
            assert "A first answer." not in terminal.text
            await terminal.types("prompt-2.")
            await terminal.shows("[bold]kept[/bold] ␛[31mplain␛[0m �calm List<T>")
            assert not stage.model.turn_requests()[-1].mentions("prompt-1.")
            await terminal.types(CTRL_O, enter=False)
            await terminal.shows("out-of-the-shell")
        async with chat(stage) as terminal:
            await terminal.shows("calm List<T>")
            assert "▸ Earlier messages" in terminal.text


async def test_approvals_are_answered_and_files_are_taken_back_by_keys(stage: CliHarness) -> None:
    stage.script.then(say("Ready."), run("echo new > made.txt"), say("It is made."))
    await in_git(stage)
    async with stage.serving():
        words = ["ask", "-a", "untrusted", "-s", "workspace-write", "prompt-1."]
        assert (await stage.run(*words)).code == 0
        async with chat(stage) as terminal:
            await terminal.types("prompt-2.")
            await terminal.shows("May the agent run")
            await terminal.types("y", enter=False)
            await terminal.shows("It is made.")
            made = stage.worktree / "made.txt"
            assert made.exists()
            await terminal.types(CTRL_R, enter=False)
            await terminal.shows("before the first turn")
            await terminal.types("")
            await terminal.shows("made.txt")
            assert made.exists()
            await terminal.types("")
            await terminal.shows("To undo")
            assert not made.exists()


async def test_the_chat_goes_on_after_the_daemon_has_ended(stage: CliHarness) -> None:
    stage.script.then(say("Before."), say("After."))
    async with stage.serving() as serve, chat(stage) as terminal:
        await terminal.types("prompt-1.")
        await terminal.shows("Before.")
        serve.process.terminate()
        await terminal.shows("The daemon is not there")
        async with stage.serving():
            await terminal.shows(lambda text: "The daemon is not there" not in text)
            await terminal.types("prompt-2.")
            await terminal.shows("After.")
            assert stage.model.turn_requests()[-1].mentions("Before.")


async def test_threads_are_chosen_by_their_first_words(stage: CliHarness) -> None:
    stage.script.then(say("About apples."), say("About pears."))
    async with stage.serving():
        assert (await stage.run("ask", "apples?")).code == 0
        assert (await stage.run("ask", "--new", "pears?")).code == 0
        async with chat(stage) as terminal:
            await terminal.shows("About pears.")
            await terminal.types(CTRL_T, enter=False)
            await terminal.shows("first words, folder or id")
            await terminal.types("aples", enter=False)
            await terminal.shows(lambda text: "pears?" not in text)
            await terminal.types("")
            await terminal.shows("About apples.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--thread", "nowhere"), "There is no thread 'nowhere'."),
        (("--new", "--last"), "Give one of them."),
    ],
)
async def test_what_cannot_be_shown_is_said_as_by_every_command(
    stage: CliHarness, words: tuple[str, ...], said: str
) -> None:
    async with stage.serving():
        command, folder = stage.command("chat", *words), str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows(said)


async def test_without_a_terminal_it_says_what_else_there_is(stage: CliHarness) -> None:
    done = await stage.run("chat")
    assert (done.code, "chat needs a terminal" in done.err) == (2, True)
