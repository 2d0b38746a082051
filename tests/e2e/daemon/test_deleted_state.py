"""The state directory is deleted under a daemon: the daemon notices it, and acknowledges nothing
that would be lost.
"""

import shutil

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def test_commands_are_refused_when_the_state_directory_is_gone(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        shutil.rmtree(harness.state_dir)
        with anyio.fail_after(STEP_S):
            for method, params in {
                "commands/execute": {"text": "/clear"},
                "turn/start": {"input": [{"type": "text", "text": "prompt-3."}]},
            }.items():
                with pytest.raises(RemoteError) as refused:
                    await talk.client.request(method, threadId=talk.thread_id, **params)
                assert refused.value.data["reason"] == "journal_read_only", refused.value
                assert "No such file" in str(refused.value)
            with pytest.raises(RemoteError) as refused:
                await talk.client.request("thread/start", cwd=str(harness.worktree))
            assert refused.value.data["reason"] == "journal_read_only", refused.value
    assert len(harness.model.turn_requests()) == 2
