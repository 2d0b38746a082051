"""A journal is damaged in the middle: its thread is read-only, and every refusal says so."""

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex


async def test_a_thread_with_a_damaged_journal_says_why_it_is_read_only(harness: Harness) -> None:
    async with harness.conversation() as talk:
        thread_id = talk.thread_id
        for _ in range(2):
            await talk.turn()
        await talk.type("/clear 1")
    [journal] = (harness.state_dir / "threads").glob("*.journal")
    content = bytearray(journal.read_bytes())
    content[len(content) // 3] ^= 0xFF  # in the first turn, whose Codex thread is archived by now
    journal.write_bytes(content)
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            for method, params in {
                "commands/execute": {"text": "/clear"},
                "turn/start": {"input": [{"type": "text", "text": "prompt-3."}]},
            }.items():
                with pytest.raises(RemoteError) as refused:
                    await client.request(method, threadId=thread_id, **params)
                assert refused.value.data["reason"] == "journal_read_only", refused.value
                assert "the journal is damaged at byte" in str(refused.value)
                assert "trimpoint daemon journal verify" in refused.value.data["hint"]
            assert (await talk.snapshot())["readOnly"]
