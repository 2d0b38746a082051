"""Codex's own terminal UI beside other clients, and through the ends of what is behind it."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import call, codex_environment, held, say

from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt
from tests.e2e.daemon_process import daemon_process
from tests.e2e.expectation import Piece, pieces
from tests.http.websocket_client import websocket_client
from tests.tui.stage import BINARIES, SCREEN_READ_S, attached, terminal_ui
from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.codex,
    pytest.mark.parametrize("codex", BINARIES, ids=lambda path: "/".join(path.parts[-3:])),
]
PROMPTS = ("one", "two", "three", "four")


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    script = AnswersByPrompt()
    for word in PROMPTS:
        script.when(f"Say {word}.", say(f"it is {word}"))
    async with opened_harness(script=script) as opened:
        yield opened


async def says(terminal: Terminal, word: str) -> None:
    """Prompts the agent, and waits until the turn has ended."""
    await terminal.types(f"Say {word}.")
    await terminal.shows(lambda text: "Worked for" in text.partition(f"• it is {word}")[2])


async def only_thread(client: Client) -> str:
    [thread] = (await client.request("thread/list"))["data"]
    return str(thread["id"])


async def has_a_thread(harness: Harness, terminal: Terminal) -> None:
    """Waits until the UI has been told of its thread: it gives up if it loses the server before."""
    async with harness.client() as other:
        while not (await other.request("thread/loaded/list"))["data"]:
            await anyio.lowlevel.checkpoint()
    await terminal.types("", enter=False)


@asynccontextmanager
async def second_ui(harness: Harness, codex: Path, thread_id: str) -> AsyncIterator[Terminal]:
    """Another terminal on the same thread."""
    where = ("--remote", f"unix://{harness.socket}", "-C", str(harness.worktree))
    async with terminal_ui(harness, codex, "resume", thread_id, *where) as terminal:
        yield terminal


async def test_two_uis_on_one_thread_show_the_same(harness: Harness, codex: Path) -> None:
    assert isinstance(harness.script, AnswersByPrompt)
    escalated = {
        "cmd": "touch made-by-the-agent",
        "sandbox_permissions": "require_escalated",
        "justification": "May I?",
    }
    harness.script.when("Do it.", call("exec_command", escalated), say("it is done"))
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as first, harness.client() as other:
            await says(first, "one")
            async with second_ui(harness, codex, await only_thread(other)) as second:
                await second.shows("• it is one")
                await says(first, "two")
                await second.shows("• it is two")
                await second.types(":clear 1")
                for terminal in (first, second):
                    await terminal.shows("Context cleared")
                await first.types("Do it.")
                for terminal in (first, second):
                    await terminal.shows("touch made-by-the-agent")
                    await terminal.shows("Yes, proceed")
                await second.types("y", enter=False)
                for terminal in (first, second):
                    await terminal.shows("• it is done")
                    assert "Yes, proceed" not in terminal.text
    [request] = [one for one in harness.model.requests if one.mentions("Do it.")][:1]
    assert not request.mentions("Say one.")


async def test_a_ui_a_websocket_and_the_command_line_share_a_thread(
    harness: Harness, codex: Path
) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with (
            daemon_process(harness),
            attached(harness, codex) as terminal,
            websocket_client(harness.socket) as browser,
        ):
            await says(terminal, "one")
            thread_id = await only_thread(browser)
            await browser.request("orchestration/subscribeThread", threadId=thread_id)
            await browser.request("thread/resume", threadId=thread_id, excludeTurns=True)
            await says(terminal, "two")
            await browser.received("turn/completed")
            printed = await _command_line(harness, "clear", "1", "--thread", thread_id)
            assert "Context cleared" in printed
            await terminal.shows("Context cleared")
            await browser.expect(
                lambda message: (
                    message.get("method") == "orchestration/event"
                    and message["params"]["type"] == "thread.trim-point-created"
                )
            )
            await browser.received("thread/tokenUsage/updated")
            prompt = [{"type": "text", "text": "Say three."}]
            await browser.request("turn/start", threadId=thread_id, input=prompt)
            await terminal.shows("• it is three")
    [request] = [
        one
        for one in harness.model.requests
        if pieces(one.input)[-1] == Piece("user", "Say three.")
    ]
    said = [piece.text for piece in pieces(request.input) if piece.kind in ("user", "assistant")]
    assert said == ["Say two.", "it is two", "Say three."]


async def _command_line(harness: Harness, *words: str) -> str:
    environment = codex_environment(harness.codex_home) | {
        "HOME": str(harness.home),
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
    }
    command = [sys.executable, "-m", "trimpoint", *words, "--socket", str(harness.socket)]
    done = await anyio.run_process(command, env=environment, stderr=-2, check=False)
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


async def test_a_ui_continues_when_codex_was_killed(harness: Harness, codex: Path) -> None:
    assert isinstance(harness.script, AnswersByPrompt)
    harness.script.when("Work.", held(say("never"), anyio.Event()))
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await says(terminal, "one")
            os.kill(harness.child_pid(), signal.SIGKILL)
            await says(terminal, "two")
            await terminal.types("Work.")
            await harness.model.wait_for_request(
                lambda request: pieces(request.input)[-1] == Piece("user", "Work.")
            )
            os.kill(harness.child_pid(), signal.SIGKILL)
            await terminal.shows("Codex went away: it was ended by SIGKILL")
            await says(terminal, "three")
            await terminal.types(":clear 1")
            await terminal.shows("Context cleared")
            await says(terminal, "four")


@pytest.mark.each_case(reason="each is another thing that runs on the screen")
@pytest.mark.parametrize("running", ["an approval", "a command", "a background terminal"])
async def test_nothing_runs_on_the_screen_of_a_codex_that_was_killed(
    harness: Harness, codex: Path, running: str
) -> None:
    assert isinstance(harness.script, AnswersByPrompt)
    command: dict[str, object] = {"cmd": "sleep 300", "yield_time_ms": 250}
    last = [held(say("never"), anyio.Event())]
    if running == "an approval":
        command |= {"sandbox_permissions": "require_escalated", "justification": "May I?"}
    elif running == "a background terminal":
        last = [say("it runs on")]
    harness.script.when("Work.", call("exec_command", command), *last)
    shown = {"an approval": "Yes, proceed", "a background terminal": "it runs on"}
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await says(terminal, "one")
            await terminal.types("Work.")
            await terminal.shows(shown.get(running, "1 background terminal"))
            await terminal.shows(lambda text: "Running" in text or "1 background" in text)
            os.kill(harness.child_pid(), signal.SIGKILL)
            await terminal.shows(lambda text: "Running" not in text and "background" not in text)
            await says(terminal, "two")
            assert "Running" not in terminal.text


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("prompted", [True, False], ids=["prompted", "fresh"])
async def test_a_ui_continues_when_the_daemon_was_started_again(
    harness: Harness, codex: Path, how: signal.Signals, *, prompted: bool
) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with AsyncExitStack() as first:
            daemon = await first.enter_async_context(daemon_process(harness))
            async with attached(harness, codex) as terminal:
                if prompted:
                    await says(terminal, "one")
                else:
                    await has_a_thread(harness, terminal)
                daemon.send_signal(how)
                await daemon.wait()
                await terminal.shows("Reconnecting")
                async with daemon_process(harness):
                    await terminal.shows(lambda text: "Reconnecting" not in text)
                    await says(terminal, "two")
                    await terminal.types(":clear 1")
                    await terminal.shows("Context cleared" if prompted else "Nothing to trim")
                    await says(terminal, "three")
    request = next(one for one in harness.model.requests if one.mentions("Say three."))
    assert not request.mentions("Say one.")
    assert request.mentions("Say two.")


async def test_a_ui_continues_when_the_daemon_was_stopped_for_a_while(
    harness: Harness, codex: Path
) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with daemon_process(harness) as daemon, attached(harness, codex) as terminal:
            await says(terminal, "one")
            daemon.send_signal(signal.SIGSTOP)
            await terminal.types("Say two.")
            await terminal.shows("› Say two.")
            daemon.send_signal(signal.SIGCONT)
            await terminal.shows("• it is two")
            await says(terminal, "three")
            assert terminal.text.count("› Say two.") == 1
