"""A completed revert stays complete, even if Codex ends right after it
(docs/spec/checkpoints.md).
"""

from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.operations.provider.terminals import Terminals

from tests.e2e.conftest import Harness
from tests.e2e.conversation import TURN_DEADLINE_S, seen_turns

pytestmark = pytest.mark.codex


async def test_a_codex_that_dies_behind_a_revert_takes_nothing_with_it(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def running(self: Terminals, provider_id: str) -> list[dict[str, Any]]:
        raise ProviderExited("it was ended by SIGKILL", "")

    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        with monkeypatch.context() as patched:
            patched.setattr(
                Terminals, "running", running
            )  # what is asked for first when the revert has been written down
            with anyio.fail_after(TURN_DEADLINE_S):
                outcome = await talk.type("/revert 1 --context")
        assert outcome["status"] == "completed", outcome
        last = await talk.turn()
        snapshot = await talk.snapshot()
    assert seen_turns(last, 4) == [1, 4]
    assert (snapshot["operation"]["kind"], snapshot["operation"]["phase"]) == ("revert", "ready")
