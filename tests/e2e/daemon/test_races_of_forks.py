"""A fork that Codex is making at the very moment at which another client trims the thread."""

from typing import Any

import anyio
import pytest
from msgspec import Raw
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.provider.forking import Forking

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = pytest.mark.codex


class SlowForks:
    """Lets Codex make forks at once, but holds its answers back until `released` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made, self.released = anyio.Event(), anyio.Event()
        made_at_once = Forking.fork

        async def fork(forking: Forking, state: ThreadState, params: dict[str, Any]) -> Raw:
            answer = await made_at_once(forking, state, params)
            self.made.set()
            await self.released.wait()
            return answer

        monkeypatch.setattr(Forking, "fork", fork)


async def test_a_clear_that_is_recorded_while_codex_forks_the_thread_is_none_of_the_forks(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowForks(monkeypatch)
    async with harness.daemon(), harness.client() as client, harness.client() as other:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.complete("/clear 2")
        await talk.turn(tool=True)
        await other.request("orchestration/subscribeThread", threadId=talk.thread_id)
        forks: list[Conversation] = []

        async def fork() -> None:
            forks.append(await talk.fork())

        with anyio.fail_after(SCENARIO_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fork)
                await slow.made.wait()
                clearing = Conversation(other, talk.thread_id, harness.model, harness.script)
                tasks.start_soon(clearing.complete, "/clear 1")
                await other.expect(
                    lambda message: (
                        message.get("method") == "orchestration/event"
                        and message["params"]["type"] == "thread.trim-point-created"
                    )
                )
                slow.released.set()
        [made] = forks
        [point] = (await made.snapshot())["contextTrimPoints"]
        timeline = await made.timeline(expand="all")
        shown, shown_to_parent = await made.turn(), await talk.turn()
    assert len(point["prunedTurnIds"]) == 1
    assert [one["text"] for one in timeline if one["kind"] == "message" and one["trimmed"]] == [
        "prompt-1.",
        "answer-1.",
    ]
    assert pieces(shown.input) == [*numbered(2, 3, 4), Piece("user", "prompt-5.")]
    assert pieces(shown_to_parent.input) == [*numbered(4), Piece("user", "prompt-5.")]
