"""The real program in a pseudo-terminal, on the real daemon and the real Codex."""

import pytest
from trimpoint.testkit import run, say

from tests.chat.terminal import chat
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


async def test_a_conversation_is_held_cleared_and_found_again(stage: CliHarness) -> None:
    stage.script.then(run("echo out-of-the-shell"), say("A **first** answer."), say("A second."))
    async with stage.serving():
        async with chat(stage) as terminal:
            await terminal.types("prompt-1.")
            await terminal.shows("A first answer.")
            await terminal.shows(lambda text: "[Context:" in text and "[tokens:" in text)
            await terminal.types("/cle", enter=False)
            await terminal.shows("/clear [N]")
            await terminal.types("")
            await terminal.types("")
            await terminal.shows("pruned")
            await terminal.types("prompt-2.")
            await terminal.shows("A second.")
            assert not stage.model.turn_requests()[-1].mentions("prompt-1.")
        async with chat(stage) as terminal:
            await terminal.shows("A second.")
