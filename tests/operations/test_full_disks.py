"""A disk that is full is answered with the reason, at whichever step of whichever operation it
fills, and the operation is carried out once there is room.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.operations import runner

from tests.operations.stage import ScriptedCodex, Stage, opened_stage
from tests.threads.stage import THREAD, Disk

# The commands after those that make the thread what it is before.
OPERATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "clear": ((), "/clear 1"),
    "clear to nothing": ((), "/clear"),
    "undo": (("/clear 1",), "/undo"),
    "redo": (("/clear 1", "/undo"), "/undo --redo"),
    "pin of a note": ((), "/pin Tabs"),
    "pin of a pruned turn": (("/clear 1",), "/pin 1"),
    "unpin": (("/pin Tabs",), "/unpin"),
    "revert": ((), "/revert 1 --context"),
    "revert undone": (("/revert 1 --context",), "/revert --undo"),
    "compaction": ((), "/compact --force"),
    "compaction with turns": (("/pin 1",), "/compact --keep 1 --force"),
    "new": ((), "/new"),
    "new with pins": (("/pin 1",), "/new --pins"),
}
MAX_STEPS = 40


@dataclass
class FillingDisk(Disk):
    """Fills at the write after `room` further ones, and stays full."""

    room: int | None = None

    def write(self, path: Path) -> None:
        if self.room == 0:
            self.fill()
        elif self.room is not None:
            self.room -= 1
        super().write(path)


class SummarizingCodex(ScriptedCodex):
    """Compacts a fork that it is asked to; `rollout` is the file of each fork."""

    def __init__(self, rollout: Path) -> None:
        super().__init__()
        self.stage: Stage | None = None
        self.rollout = rollout
        self.rollout.write_bytes(b"\n".join(map(msgspec.json.encode, COMPACTED)))

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "thread/fork":
            answer = super().answer(method, params)
            return {**answer, "thread": {**answer["thread"], "path": str(self.rollout)}}
        if method != "thread/compact/start" or self.stage is None:
            return super().answer(method, params)
        of_turn = {"threadId": params["threadId"], "turnId": "compaction"}
        turn = {"id": "compaction", "items": [], "status": "inProgress"}
        self.stage.says("turn/started", threadId=params["threadId"], turn=turn)
        item = {"id": "item", "type": "contextCompaction"}
        self.stage.says("item/completed", **of_turn, item=item)
        ended = {**turn, "status": "completed"}
        self.stage.says("turn/completed", threadId=params["threadId"], turn=ended)
        return {}


ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "s"}]}
COMPACTED = [
    {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "compaction"}},
    {"type": "response_item", "payload": ANSWER},
    {"type": "compacted", "payload": {"message": "s"}},
]


@pytest.fixture(autouse=True)
def retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_WRITE_S", 0.001)


async def answer(stage: Stage, text: str) -> tuple[str, Any]:
    """Returns the status and the reason with which a typed command is answered."""
    params = msgspec.Raw(msgspec.json.encode({"threadId": THREAD, "text": text}))
    call = Call(stage.client.client)
    given = await stage.routes.extensions.call("commands/execute", params, call)
    if given.error is not None:
        return "refused", msgspec.to_builtins(given.error)["data"]["reason"]
    outcome = msgspec.to_builtins(given.result)
    return outcome["status"], outcome["reason"]


def begun(state: ThreadState) -> tuple[str | None, str | None]:
    """Returns the id of the operation that the thread began last, and of the thread after it."""
    return state.operation.id if state.operation is not None else None, state.new_thread_id


async def filled_at(step: int, before: tuple[str, ...], text: str, rollout: Path) -> bool:
    """Runs a command on a disk that fills after `step` writes; returns whether it came so far."""
    disk, codex = FillingDisk(), SummarizingCodex(rollout)
    async with opened_stage(codex, disk) as stage:
        codex.stage = stage
        writer = await stage.thread("T1", "T2", "T3")
        for one in before:
            assert await answer(stage, one) == ("completed", None)
        earlier = begun(disk.written())
        disk.room = step
        status, reason = await answer(stage, text)
        if not disk.refused:
            assert status == "completed"
            return False
        assert (status, reason) in (("completed", None), ("refused", "journal_read_only")), step
        is_accepted = begun(disk.written()) != earlier
        disk.room = None
        disk.free()
        if not is_accepted:
            assert status == "refused"
            assert await answer(stage, text) == ("completed", None), "a refusal changes nothing"
        writer = await stage.registry.thread(THREAD)
        await stage.ended(writer)
        await writer.flush()
        left = disk.written()
        if left.new_thread_id is not None:
            assert (await stage.registry.thread(left.new_thread_id)).state.exists
        else:
            assert left.operation is not None
            # A summary that could not be recorded is not made again: nothing has changed then.
            has_failed = left.operation.kind == "compact" and not left.trim_points
            assert left.operation.phase is (Phase.FAILED if has_failed else Phase.READY), step
    return True


@pytest.mark.parametrize(("before", "text"), OPERATIONS.values(), ids=OPERATIONS.keys())
async def test_a_disk_that_fills_at_any_step_is_answered_with_the_reason(
    before: tuple[str, ...], text: str, tmp_path: Path
) -> None:
    rollout = tmp_path / "rollout.jsonl"
    steps = [step for step in range(MAX_STEPS) if await filled_at(step, before, text, rollout)]
    assert steps == list(range(len(steps)))
    assert steps
