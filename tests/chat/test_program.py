"""The real program in a pseudo-terminal, on the real daemon and the real Codex."""

import shlex
import shutil

import anyio
import anyio.lowlevel
import pytest
from trimpoint.testkit import call, hang, held, run, say

from tests.chat.terminal import chat, in_git
from tests.chat.tmux import tmux
from tests.cli.stage import CliHarness
from tests.deadlines import STEP_S
from tests.e2e.codex.sub_agents import replies_of_both
from tests.tools import missing
from tests.tui.terminal import program_in_terminal

pytestmark = pytest.mark.codex

CTRL_C, CTRL_D = "\x03", "\x04"
CTRL_F, CTRL_O, CTRL_S, CTRL_T, CTRL_X = "\x06", "\x0f", "\x13", "\x14", "\x18"
ALT_Z = "\x1bz"
UP, ESCAPE, ALT_UP, ALT_ENTER = "\x1b[A", "\x1b", "\x1b[1;3A", "\x1b\r"
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
            cursor, rows = terminal.screen.cursor, terminal.text.splitlines()
            await terminal.shows(lambda _: "/cle" in rows[cursor.y] and not cursor.hidden)
            assert not terminal.screen.buffer[cursor.y][cursor.x].reverse
            await terminal.types("")
            await terminal.types("")
            await terminal.shows(lambda text: "2 pruned" in text and "A first answer." not in text)
            await terminal.types("prompt-2.")
            await terminal.shows("[bold]kept[/bold] ␛[31mplain␛[0m �calm List<T>")
            assert not stage.model.turn_requests()[-1].mentions("prompt-1.")
            await terminal.types(CTRL_O, enter=False)
            await terminal.shows("out-of-the-shell")
        async with chat(stage) as terminal:
            await terminal.shows("calm List<T>")
            assert "▸ Earlier messages" in terminal.text


async def test_the_shell_asks_how_many_turns_a_clear_keeps(stage: CliHarness) -> None:
    stage.script.then(say("One."), say("Two."), say("Three."))
    async with stage.serving():
        for number in (1, 2):
            assert (await stage.run("ask", f"prompt-{number}.")).code == 0
        command, folder = stage.command("ask", "/clear"), str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows("has 2 turns. How many of the last ones stay? [0]")
            await terminal.types("1")
            await terminal.shows("Context cleared")
        assert (await stage.run("ask", "prompt-3.")).code == 0
    last = stage.model.turn_requests()[-1]
    assert (last.mentions("prompt-1."), last.mentions("prompt-2.")) == (False, True)


async def test_the_shell_asks_how_far_a_revert_goes_back(stage: CliHarness) -> None:
    stage.script.then(say("One."), say("Two."), say("Three."))
    async with stage.serving():
        for number in (1, 2, 3):
            assert (await stage.run("ask", f"prompt-{number}.")).code == 0
        command, folder = stage.command("revert", "--context"), str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows("has 3 turns. After which one does it go on? [2]")
            terminal.presses(CTRL_D.encode())
            await terminal.shows("Nothing was chosen, so nothing was reverted.")
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows("After which one does it go on? [2]")
            await terminal.types("1")
            await terminal.shows("✓")
        assert (await stage.run("ask", "prompt-4.")).code == 0
    last = stage.model.turn_requests()[-1]
    assert [last.mentions(f"prompt-{number}.") for number in (1, 2, 3)] == [True, False, False]


async def test_without_a_login_the_chat_names_the_command_before_a_prompt_waits(
    stage: CliHarness,
) -> None:
    stage.overrides[:] = ['model="gpt-5"']
    async with stage.daemon(), chat(stage) as terminal:
        await terminal.shows("Codex is not logged in.")
        await terminal.shows("Run `trimpoint login`, then try again.")


@pytest.mark.parametrize(
    ("key", "said", "code"), [(CTRL_C, "", 130), (CTRL_D, "trimpoint: Nothing was chosen", 2)]
)
async def test_a_question_that_is_not_answered_clears_nothing_and_ends_its_line(
    stage: CliHarness, key: str, said: str, code: int
) -> None:
    async with stage.serving():
        for number in (1, 2):
            assert (await stage.run("ask", f"prompt-{number}.")).code == 0
        line = f'trap : INT; {shlex.join(stage.command("clear"))}; echo "exit code $?"; exec cat'
        command, folder = ["bash", "-c", line], str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows("How many of the last ones stay? [0]")
            await terminal.types(key, enter=False)
            shown = (await terminal.shows(f"exit code {code}")).splitlines()
        rows = [row for row in shown if row.startswith(("The agent's", "trimpoint:", "exit"))]
        assert rows[0].removesuffix("^C").rstrip().endswith("stay? [0]")
        assert rows[1].startswith(said or "exit")
        assert (await stage.run("ask", "prompt-3.")).code == 0
    assert stage.model.turn_requests()[-1].mentions("prompt-1.")


async def test_approvals_are_answered_and_files_are_taken_back_by_keys(stage: CliHarness) -> None:
    stage.script.then(say("Ready."), run("echo new > made.txt"), say("It is made."))
    await in_git(stage)
    async with stage.serving():
        words = ["ask", "-a", "untrusted", "-s", "workspace-write", "prompt-1."]
        assert (await stage.run(*words)).code == 0
        async with chat(stage) as terminal:
            await terminal.types("prompt-2.")
            await terminal.shows("May the agent run")
            await terminal.types("\t", enter=False)
            await terminal.shows("Enter answers")
            await terminal.types("y", enter=False)
            await terminal.shows("It is made.")
            made = stage.worktree / "made.txt"
            assert made.exists()
            await terminal.types(ALT_Z, enter=False)
            await terminal.shows("before the first turn")
            await terminal.types("")
            await terminal.shows("made.txt")
            assert made.exists()
            await terminal.types("")
            await terminal.shows("To undo")
            assert not made.exists()


async def test_a_prompt_is_sent_while_a_sub_agent_works(stage: CliHarness) -> None:
    release = anyio.Event()
    stage.script.then(*replies_of_both(held(say("done"), release)), say("answer-2."))
    async with stage.serving(), chat(stage) as terminal:
        await terminal.types("prompt-1.")
        await terminal.shows("answer-1.")
        await stage.model.wait_for_request(lambda request: not request.mentions("prompt-1."))
        await terminal.types("/clear")
        await terminal.shows("sub-agent")
        await terminal.types("prompt-2.")
        await terminal.shows("answer-2.")
        release.set()


async def test_a_number_answers_a_question_that_takes_other_answers_too(
    stage: CliHarness,
) -> None:
    options = [{"label": "Short", "description": "A page."}, {"label": "Long", "description": "-"}]
    asked = {"id": "q", "header": "Style", "question": "Which style?", "options": options}
    question = call("request_user_input", {"questions": [asked]})
    stage.script.then(question, say("Long it is."), question, say("Neither."))
    stage.flags += ["-c", "features.default_mode_request_user_input=true"]
    async with stage.serving(), chat(stage) as terminal:
        await terminal.types("prompt-1.")
        await terminal.shows("or type another answer")
        await terminal.types("\t", enter=False)
        await terminal.shows("Enter answers")
        await terminal.types("2", enter=False)
        await terminal.shows("Long it is.")
        assert '"Long"' in str(stage.model.turn_requests()[-1].input[-1])
        await terminal.types("prompt-2.")
        await terminal.shows("or type another answer")
        await terminal.types("\t", enter=False)
        await terminal.shows("Enter answers")
        await terminal.types("In 2 pages")
        await terminal.shows("Neither.")
        assert "In 2 pages" in str(stage.model.turn_requests()[-1].input[-1])


async def test_the_chat_continues_after_the_daemon_has_ended(stage: CliHarness) -> None:
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
            # The folder has random letters, but no question mark.
            await terminal.types("aples?", enter=False)
            await terminal.shows(lambda text: "pears?" not in text)
            await terminal.types("")
            await terminal.shows("About apples.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--thread", "nowhere"), "There is no thread 'nowhere'."),
        (("--new", "--last"), "Give only one of them."),
    ],
)
async def test_chat_explains_why_it_cannot_start(
    stage: CliHarness, words: tuple[str, ...], said: str
) -> None:
    async with stage.serving():
        command, folder = stage.command("chat", *words), str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows(said)


async def test_without_a_terminal_it_says_what_else_there_is(stage: CliHarness) -> None:
    done = await stage.run("chat")
    assert (done.code, "chat needs a terminal" in done.err) == (2, True)


async def test_escape_interrupts_and_a_prompt_that_waits_is_sent_when_the_person_says_so(
    stage: CliHarness,
) -> None:
    stage.script.then(hang("I begin"), say("After it."))
    async with stage.serving(), chat(stage) as terminal:
        await terminal.types("prompt-1.")
        await terminal.shows("I begin")
        await terminal.types("prompt-2.", enter=False)
        await terminal.types(ALT_ENTER, enter=False)
        await terminal.shows("next prompt-2.")
        await terminal.types(ESCAPE, enter=False)
        await terminal.shows("The queue waits because the turn was interrupted")
        await terminal.types(ALT_UP, enter=False)
        await terminal.shows("Ctrl+S sends them")
        await terminal.types(CTRL_S, enter=False)
        await terminal.shows("After it.")
        assert "interrupted" in terminal.text
        assert stage.model.turn_requests()[-1].mentions("prompt-2.")


async def test_chat_finds_cleared_text_and_discards_items_of_the_context(
    stage: CliHarness,
) -> None:
    stage.script.then(say("The needle is here."), run("seq 1 900"), say("Counted."), say("Last."))
    async with stage.serving():
        words = ["ask", "-a", "never", "-s", "danger-full-access"]
        assert (await stage.run(*words, "prompt-1.")).code == 0
        assert (await stage.run("clear")).code == 0
        # Without it the context would be smaller than what a discard has to leave.
        prompt = b"count please" + 35_000 * b" word"
        assert (await stage.run("ask", "-", stdin=prompt)).code == 0
        async with chat(stage) as terminal:
            await terminal.shows("Counted.")
            assert "needle" not in terminal.text
            await terminal.types(CTRL_F, enter=False)
            await terminal.shows("Search in this thread")
            await terminal.types("needle", enter=False)
            await terminal.shows("pruned")
            await terminal.types("")
            await terminal.shows("▾ Earlier messages")
            assert "The needle is here." in terminal.text
            await terminal.types(ESCAPE, enter=False)
            await terminal.types(CTRL_X, enter=False)
            await terminal.shows("toolResult")
            await terminal.types(f"{UP} d", enter=False)
            await terminal.shows("tokens? Enter discards")
            await terminal.types("")
            await terminal.shows("Discarded. /undo takes it back.")
            await terminal.types(ESCAPE, enter=False)
            await terminal.types("prompt-3.")
            await terminal.shows("Last.")
    # Whole lines and words: short numbers also occur in random ids.
    counted = ("seq 1 900", "\n899\n")
    _, _, before, last = stage.model.turn_requests()
    assert all(map(before.mentions, counted))
    assert not any(map(last.mentions, counted))
    assert last.mentions("count please")


async def test_in_tmux_it_suspends_resumes_and_takes_another_size(stage: CliHarness) -> None:
    if shutil.which("tmux") is None:
        missing("tmux")
    stage.script.then(say("An answer."))
    async with stage.serving():
        assert (await stage.run("ask", "prompt-1.")).code == 0
        async with tmux(stage) as window:
            await window.types(shlex.join(stage.command("chat")))
            await window.shows("An answer.")
            await window.presses("C-z")
            await window.shows("Stopped")
            await window.types("fg")
            await window.shows("An answer.")
            await window.shows("Ask, / for commands")
            await window.shows("[Context:")
            await window.resizes(40, 16)
            await window.shows(lambda text: max(map(len, text.splitlines())) <= 40)
            await window.shows("[Context:")
            await window.presses("C-d")
            await window.shows(lambda text: "[Context:" not in text)


def is_idle(text: str) -> bool:
    return "writing" not in text and "working" not in text


async def test_a_prompt_of_a_chat_that_was_killed_is_taken_once_if_it_is_sent_again(
    stage: CliHarness,
) -> None:
    stage.script.then(say("One."), say("Two."), say("Three."))
    drafts = anyio.Path(stage.state_dir / "chat-drafts")

    async def is_on_its_way() -> bool:
        if stage.model.turn_requests()[-1].mentions("prompt-2."):
            return True
        try:
            kept = [await one.read_text() async for one in drafts.glob("*.json")]
        except FileNotFoundError:  # a draft that has arrived is removed
            return False
        return any('"sent":[[' in one for one in kept)

    async with stage.serving():
        async with chat(stage) as terminal:
            await terminal.types("prompt-1.")
            await terminal.shows("One.")
        async with chat(stage) as terminal:
            # What is put into a running turn has its receipt when the agent has read it.
            await terminal.shows(lambda text: "One." in text and is_idle(text))
            await terminal.types("prompt-2.")
            with anyio.fail_after(STEP_S):
                while not await is_on_its_way():
                    await anyio.lowlevel.checkpoint()
        command, folder = stage.command("chat"), str(stage.worktree)
        async with program_in_terminal(command, stage.environment, folder) as terminal:
            await terminal.shows("prompt-2.")
            await terminal.types("")
            await terminal.shows("Two.")
            await terminal.types("prompt-3.")
            await terminal.shows("Three.")
    assert str(stage.model.turn_requests()[-1].input).count("prompt-2.") == 1
