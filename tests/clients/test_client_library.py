"""The client library with a real daemon and the real Codex."""

import anyio
import pytest
from trimpoint.testkit import run, say
from trimpoint_protocol.client import ClientInfo, RemoteError, ServerRequest, connect
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandProgress

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness

pytestmark = pytest.mark.codex

INFO = ClientInfo("library", "1")


async def test_a_client_prompts_clears_and_follows_what_happens() -> None:
    async with opened_harness() as harness, harness.daemon():
        with anyio.fail_after(SCENARIO_S):
            await _prompt_and_clear(harness)


async def _prompt_and_clear(harness: Harness) -> None:
    async with connect(INFO, harness.socket) as client:
        assert client.server.codex_home == str(harness.codex_home)
        thread_id = await client.start_thread(harness.worktree, approvalPolicy="never")
        harness.script.then(say("a short answer"))
        with client.listen("commands/progress", thread_id=thread_id) as progress:
            async with client.follow(thread_id) as following:
                assert following.start.mode == "snapshot"
                async with client.turn(thread_id, "hello") as turn:
                    assert "".join([text async for text in turn.text()]) == "a short answer"
                outcome = await client.execute("/clear", thread_id)
                assert (outcome.status, outcome.command) == ("completed", "clear")
                seen = [getattr(await anext(following), "type", "") for _ in range(len(following))]
                assert "thread.trim-point-created" in seen
            assert (await progress.receive()).read_as(CommandProgress).command == "clear"
        divider = (await client.timeline(thread_id)).entries[-1]
        assert divider.hidden_message_count == 2  # type: ignore[union-attr]
        thread = (await client.snapshot(thread_id)).thread
        assert thread is not None
        assert thread.context_trim_points[0].id == outcome.trim_point_id
        assert "a short answer" in await client.export(thread_id, pruned=True)
        assert (await client.status()).codex.state == "connected"
        assert (await client.context_messages(thread_id)).messages == []
        assert [one.name for one in await client.complete_command("/cle")] == ["clear"]


async def test_a_client_gets_the_codex_of_its_own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened_harness() as harness, harness.daemon():
        mine = harness.home / "mine"
        mine.mkdir()
        monkeypatch.setenv("CODEX_HOME", str(mine))
        with anyio.fail_after(SCENARIO_S):
            async with connect(INFO, harness.socket) as client:
                assert client.server.codex_home == str(mine)


async def test_a_question_of_the_agent_is_answered() -> None:
    async with opened_harness() as harness, harness.daemon():
        with anyio.fail_after(SCENARIO_S):
            async with connect(INFO, harness.socket) as client:
                thread_id = await client.start_thread(
                    harness.worktree, approvalPolicy="untrusted", sandbox="workspace-write"
                )
                harness.script.then(run("touch made.txt"), say("it is there"))
                async with client.turn(thread_id, "make a file") as turn:
                    async for message in turn:
                        if isinstance(message, ServerRequest):
                            message.answer({"decision": "accept"})
                assert turn.completed is not None
                assert turn.completed["status"] == "completed"
                assert (harness.worktree / "made.txt").exists()


async def test_a_refusal_has_a_reason_and_a_hint() -> None:
    async with opened_harness() as harness, harness.daemon():
        with anyio.fail_after(SCENARIO_S):
            async with connect(INFO, harness.socket) as client:
                with pytest.raises(RemoteError) as refused:
                    await client.context_status("00000000-0000-7000-8000-000000000000")
                assert refused.value.reason is Reason.THREAD_NOT_FOUND
