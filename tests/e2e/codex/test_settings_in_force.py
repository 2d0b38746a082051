"""`thread/resume` answers with the settings of the thread's next turn, whatever changed them."""

import pytest

from tests.e2e.conftest import Harness

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]

IN_FORCE = {"sandbox": {"type": "dangerFullAccess"}, "approvalPolicy": "never"}


async def _settings(harness: Harness, thread_id: str) -> dict[str, object]:
    async with harness.client("other") as other:
        answer = await other.request("thread/resume", threadId=thread_id, excludeTurns=True)
    return {name: answer[name] for name in (*IN_FORCE, "reasoningEffort", "model")}


@pytest.mark.parametrize("command", ["", "/clear", "/new"])
async def test_a_resume_answers_settings_that_were_updated(harness: Harness, command: str) -> None:
    async with harness.conversation() as talk:
        started = await talk.client.request("thread/start", cwd=str(harness.worktree))
        talk.thread_id = started["thread"]["id"]
        await talk.turn()
        await talk.client.request(
            "thread/settings/update",
            threadId=talk.thread_id,
            sandboxPolicy={"type": "dangerFullAccess"},
            approvalPolicy="never",
            effort="high",
        )
        if command:
            outcome = await talk.type(command)
            talk.thread_id = outcome.get("newThreadId") or talk.thread_id
        expected = {**IN_FORCE, "reasoningEffort": "high", "model": "gpt-5"}
        assert await _settings(harness, talk.thread_id) == expected
        await talk.turn()
        assert await _settings(harness, talk.thread_id) == expected
        assert harness.model.requests[-1].body["reasoning"]["effort"] == "high"
