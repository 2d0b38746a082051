"""A thread that leaves memory between two clients is the same conversation for the second client,
and for the model.
"""

import anyio
import msgspec
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.config.sections import ThreadsSection
from trimpoint.threads import loaded_threads

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns

pytestmark = pytest.mark.codex


async def test_a_thread_goes_when_its_client_goes_and_comes_back_whole(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_threads, "SWEEP_S", 0.02)
    harness.config = msgspec.structs.replace(
        harness.config, threads=ThreadsSection(evict_after_s=0.01, snapshot_after_records=5)
    )
    async with harness.daemon():
        async with harness.client() as client:
            talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
            for _ in range(4):
                await talk.turn(tool=True)
            assert (await talk.type("/clear 3"))["status"] == "completed"
            before = await talk.timeline(expand="all")
        async with harness.client() as client:
            await _until_unloaded(talk, client)
            assert list(harness.state_dir.glob("snapshots/*"))
            talk.client = client
            assert await talk.timeline(expand="all") == before
            await client.request("thread/resume", threadId=talk.thread_id)
            assert seen_turns(await talk.turn(), 5) == [2, 3, 4, 5]
            assert (await talk.type("/clear 1"))["status"] == "completed"
            assert seen_turns(await talk.turn(), 6) == [5, 6]


async def _until_unloaded(talk: Conversation, client: Client) -> None:
    with anyio.fail_after(STEP_S):
        while True:
            answer = await client.request("orchestration/snapshot")
            if not next(row for row in answer["threads"] if row["id"] == talk.thread_id)["loaded"]:
                return
            await anyio.lowlevel.checkpoint()
