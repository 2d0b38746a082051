"""What the terminal of a person who looks elsewhere is told, in its own bytes."""

import pytest
from trimpoint.testkit import run, say

from tests.chat.terminal import chat
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex

LOST_FOCUS = b"\x1b[O"


def rung(written: bytearray) -> list[str]:
    """Returns what bells and OSC 9 have told."""
    return [piece.split(b"\x07")[0].decode() for piece in written.split(b"\x07\x1b]9;")[1:]]


async def test_the_bell_tells_the_daemons_events_in_its_words(stage: CliHarness) -> None:
    folder = stage.worktree.name
    asks, done = f"{folder}: The agent asks for an answer.", f"{folder}: The agent has finished."
    stage.script.then(say("seen."), run("touch asked-for.txt"), say("unseen."))
    async with stage.serving():
        words = ["ask", "-a", "untrusted", "-s", "workspace-write", "prompt-1."]
        assert (await stage.run(*words)).code == 0
        async with chat(stage) as terminal:
            await terminal.shows("seen.")
            await terminal.types("Do it.")
            await terminal.shows("touch asked-for.txt")
            while asks not in rung(terminal.written):
                await terminal.reads()
            await terminal.types("\t", enter=False)
            await terminal.shows("Enter answers")
            terminal.presses(b"y" + LOST_FOCUS)  # a key says that the person is there
            await terminal.shows("unseen.")
            while done not in rung(terminal.written):
                await terminal.reads()
            assert rung(terminal.written) == [asks, done]
