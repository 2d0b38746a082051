"""What Codex still reports of a session that its thread has left, as by a trim."""

from typing import Any

import msgspec
from msgspec import Raw
from trimpoint.core.model.decision import busy
from trimpoint_protocol.commands import TrimContext

from tests.operations.lives import life_of
from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD

CLEAR = TrimContext(command_id="c", thread_id=THREAD, keep_last_n_turns=1)


async def trim(stage: Stage) -> None:
    """Trims a thread. From then on, the Codex thread with its id is one that was left."""
    writer = await stage.thread("T1", "T2")
    await stage.operations.sessions.dispatch(CLEAR)
    await stage.ended(writer)


async def test_a_question_of_a_session_that_was_left_is_closed_when_codex_withdraws_it() -> None:
    async with opened_stage() as stage:
        await trim(stage)
        writer = await stage.registry.thread(THREAD)
        # It names no turn, so it does not end with one.
        params = Raw(msgspec.json.encode({"threadId": THREAD, "itemId": "i"}))
        stage.operations.router.on_server_request(
            Raw(b"7"), "item/fileChange/requestApproval", params
        )
        assert busy(writer.state) is not None
        stage.says("serverRequest/resolved", requestId=7)
        assert busy(writer.state) is None
        assert life_of(stage.client.received).questions == set()


async def test_nothing_is_told_of_a_turn_in_a_session_that_was_left_that_is_not_recorded() -> None:
    async with opened_stage() as stage:
        await trim(stage)
        current = (await stage.registry.thread(THREAD)).state.generation.provider_thread_id
        new: dict[str, Any] = {"id": "T3", "items": [], "status": "inProgress"}
        stage.says("turn/started", threadId=current, turn=new)
        left = {**new, "id": "T4"}  # Codex began it as the session was left
        prompt = {"type": "userMessage", "id": "p", "content": [{"type": "text", "text": "go on"}]}
        stage.says("turn/started", turn=left)
        stage.says("item/completed", turnId="T4", item=prompt)
        stage.says("turn/completed", turn={**left, "status": "completed"})
        stage.says("item/commandExecution/outputDelta", turnId="T2", itemId="c", delta="late")
        heard = [one["params"] for one in stage.client.received if "params" in one]
        named = {one.get("turnId") or one.get("turn", {}).get("id") for one in heard} - {None}
        # The output is that of a terminal that still runs.
        assert named == {"T2", "T3"}
