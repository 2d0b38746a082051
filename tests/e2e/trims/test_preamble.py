"""Codex's own instructions come once before a conversation, also after the thread was loaded
again.
"""

import os
import signal

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.expectation import is_preamble

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def test_instructions_stand_only_before_the_conversation_after_codex_was_killed(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        os.kill(harness.child_pid(), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            await talk.until_codex_answers()
        after = await talk.turn()
    kinds = [is_preamble(item) for item in after.input]
    assert kinds == sorted(kinds, reverse=True)
