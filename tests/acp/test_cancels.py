"""A cancel stops the agent before it is answered, in each state: no tool runs behind it, and the next
prompt is answered as any other.
"""

from collections.abc import AsyncGenerator

import anyio
import msgspec
import pytest
from trimpoint.config.sections import ContextSection
from trimpoint.testkit import ModelRequest, Reply, hang, held, run, say

from tests.acp.editor import Editor
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.daemon_process import write_config
from tests.e2e.gauge import spending

pytestmark = pytest.mark.codex
ASK = "session/request_permission"


@pytest.fixture
async def harness() -> AsyncGenerator[Harness]:
    """Yields a harness whose daemon compacts by itself."""
    async with opened_harness() as opened:
        context = ContextSection(auto="compact", preserve_recent_turns=1)
        opened.config = msgspec.structs.replace(opened.config, context=context)
        async with opened.daemon():
            write_config(opened)
            yield opened


class Cancelled:
    """A session whose agent would make a file if a cancel came too late."""

    def __init__(self, harness: Harness, editor: Editor, session_id: str) -> None:
        self.harness, self.editor, self.session_id = harness, editor, session_id
        self.marker = harness.worktree / "ran"
        self.is_answered = anyio.Event()
        self.answers_at_once = False

    def answer(self, request: ModelRequest) -> Reply:
        # By the prompt: the model may not have been asked yet when the cancel comes.
        if request.mentions("Are you there?"):
            return say("Here.")
        work = run(f"touch {self.marker}")
        # Else the command could run before the cancel is there, on a slow machine.
        return work if self.answers_at_once else held(work, self.is_answered)

    async def begin(self, text: str = "Begin.") -> int:
        self.harness.script.then(self.answer, self.answer, self.answer)
        return await self.editor.begin_prompt(self.session_id, text)

    async def at_once(self) -> int:
        return await self.begin()

    async def before_the_turn(self) -> int:
        prompt = await self.begin()
        await self.harness.model.wait_for_request(lambda one: one.mentions("Begin."))
        return prompt

    async def in_an_approval(self) -> int:
        self.answers_at_once = True
        prompt = await self.begin()
        await self.editor.until(lambda message: message.get("method") == ASK)
        return prompt

    async def in_its_compaction(self) -> int:
        await self._two_turns()
        after = len(self.editor.received)
        prompt = await self.begin("/compact --force")
        await self.editor.update("compaction_update", after, status="in_progress")
        return prompt

    async def behind_a_compaction(self) -> int:
        await self._two_turns()
        after = len(self.editor.received)
        await self.begin("/compact --force")
        await self.editor.update("compaction_update", after, status="in_progress")
        return await self.begin()

    async def behind_an_automatic_compaction(self) -> int:
        after = len(self.editor.received)
        await self._two_turns(30_000, 233_000)  # of a window of 258,400
        await self.harness.model.wait_for_request(lambda one: one.kind == "inline_compaction")
        await self.editor.update("compaction_update", after, status="in_progress")
        return await self.begin()

    async def behind_that_of_another_client(self) -> int:
        await self._two_turns()
        await self._compact_elsewhere()
        return await self.begin()

    async def behind_one_that_ran_before_it_came(self) -> int:
        await self._two_turns()
        await self.editor.request("session/close", sessionId=self.session_id)
        await self._compact_elsewhere()
        await self.editor.request(
            "session/load", sessionId=self.session_id, cwd=str(self.harness.worktree), mcpServers=[]
        )
        return await self.begin()

    async def _compact_elsewhere(self) -> None:
        command = {"type": "thread.context.compact", "force": True, "threadId": self.session_id}
        async with self.harness.client() as client:
            dispatched = {"commandId": "another's", **command}
            await client.request("orchestration/dispatch", command=dispatched)
            await self.harness.model.wait_for_request(lambda one: one.kind == "inline_compaction")

    async def _two_turns(self, *tokens: int) -> None:
        self.harness.script.at_compaction(hang("The gist", until=self.is_answered))
        for used in tokens or (300, 400):
            self.harness.script.then(say("Hm.", usage=spending(used)))
            await self.editor.prompt(self.session_id, "Say something.")


STATES = {
    "at once": Cancelled.at_once,
    "once the model is asked": Cancelled.before_the_turn,
    "in an approval": Cancelled.in_an_approval,
    "in its compaction": Cancelled.in_its_compaction,
    "behind a compaction": Cancelled.behind_a_compaction,
    "behind a compaction of another client": Cancelled.behind_that_of_another_client,
    "behind a compaction that ran before it came": Cancelled.behind_one_that_ran_before_it_came,
    "behind an automatic compaction": Cancelled.behind_an_automatic_compaction,
}

# The compaction of another client goes on, and what waits for it never reaches the model.
WITHDRAWN = ("behind a compaction of another client", "behind a compaction that ran before it came")


@pytest.mark.each_case(reason="each row is another state")
@pytest.mark.parametrize("state", STATES)
async def test_nothing_runs_behind_a_cancel_and_the_next_prompt_is_answered(
    harness: Harness, editor: Editor, state: str
) -> None:
    session_id = await editor.new_session(harness)
    mode = "ask" if state == "in an approval" else "full-access"
    await editor.request("session/set_mode", sessionId=session_id, modeId=mode)
    scene = Cancelled(harness, editor, session_id)
    prompt = await STATES[state](scene)
    await editor.notify("session/cancel", sessionId=session_id)
    assert (await editor.result_of(prompt))["stopReason"] == "cancelled"
    scene.is_answered.set()
    assert await editor.prompt(session_id, "Are you there?") == {"stopReason": "end_turn"}
    assert not scene.marker.exists()
    assert harness.model.turn_requests()[-1].mentions("Are you there?")
    if state in WITHDRAWN:
        assert not harness.model.turn_requests()[-1].mentions("Begin.")
