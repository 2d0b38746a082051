"""Codex tells of each item of a context that it was given, and no time is spent on them; an item of
a turn is recorded, also where the disk has refused the turn.
"""

from typing import Any

import anyio
import pytest
from trimpoint.threads.writing.writer import ThreadWriter

from tests.operations.stage import opened_stage
from tests.threads.stage import Disk

SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "said"}],
}


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collects what is submitted to writers."""
    commands: list[object] = []
    inner = ThreadWriter.submit

    def counted(writer: ThreadWriter, command: Any, *others: Any) -> Any:
        commands.append(command)
        return inner(writer, command, *others)

    monkeypatch.setattr(ThreadWriter, "submit", counted)
    return commands


async def test_nothing_is_decided_about_an_item_that_codex_was_given(
    submitted: list[object],
) -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        submitted.clear()
        for number in range(10):
            stage.says("rawResponseItem/completed", turnId=f"none {number}", item=SAID)
    assert submitted == []


async def test_items_that_codex_was_given_are_passed_on_undecoded_until_something_else_comes() -> (
    None
):
    async with opened_stage() as stage:
        await stage.thread("T1")
        stage.says("rawResponseItem/completed", turnId="auto-compact-0", item=SAID)
        known = stage.operations.router.fast_path
        assert known is not None
        assert known.prefix.endswith(b'"turnId":"auto-compact-0"')
        stage.says("rawResponseItem/completed", turnId="auto-compact-1", item=SAID)
        known = stage.operations.router.fast_path
        assert known is not None
        assert known.prefix.endswith(b'"turnId":"auto-compact-1"')
        stage.says("turn/started", turn={"id": "T3"})
        assert stage.operations.router.fast_path is None
        stage.says("rawResponseItem/completed", turnId="T3", item=SAID)
        assert stage.operations.router.fast_path is None


@pytest.mark.parametrize("is_full", [False, True])
async def test_an_item_of_a_turn_is_recorded(is_full: bool) -> None:
    async with opened_stage(disk=(disk := Disk())) as stage:
        await stage.thread("T1")
        if is_full:
            disk.fill()
            stage.says("turn/started", turn={"id": "T2"})
            await stage.refusals()
            stage.says("turn/completed", turn={"id": "T2", "status": "completed"})
        stage.says("turn/started", turn={"id": "T3"})
        stage.says("rawResponseItem/completed", turnId="T3", item=SAID)
        disk.free()
        while not disk.written().turns[-1].items:
            await anyio.lowlevel.checkpoint()
        assert disk.written().turns[-1].id == "T3"
