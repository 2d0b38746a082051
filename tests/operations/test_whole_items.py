"""A turn is carried with all its raw items, also those that Codex wrote after it had said that the
turn was over.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.operations.phases import complete_items
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.loading import TurnsRead
from trimpoint.threads.writing.writer import ThreadWriter

from tests.core.items import Item, call, message, output
from tests.threads.stage import Disk, Store, begin

NOTICE = message("user", "<turn_aborted>\nThe user interrupted the previous turn.")
PROMPT, CALL, RESULT = message("user", "hi"), call("c1"), output("c1", "aborted by user")


def _line(kind: str, payload: Item) -> bytes:
    return msgspec.json.encode({"type": kind, "payload": payload}) + b"\n"


def _encoded(items: list[Item]) -> tuple[bytes, ...]:
    return tuple(map(msgspec.json.encode, items))


def written(rollout: Path, items: list[Item]) -> Path:
    """Writes a rollout with these items of the turn."""
    lines = [_line("event_msg", {"type": "task_started", "turn_id": "t1"})]
    lines += [_line("response_item", item) for item in items]
    lines += [_line("event_msg", {"type": "task_complete", "turn_id": "t1"})]
    rollout.write_bytes(b"".join(lines))
    return rollout


async def completed(rollout: Path, *reported: Item) -> list[Any]:
    """Returns the items of an interrupted turn, once those that Codex reported were completed."""
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        writer.record_facts(
            ev.ProviderThreadBound(1, "p1", str(rollout), raw_events=True),
            ev.TurnStarted("t1", 1),
            ev.ContextItemsRecorded("t1", _encoded([*reported])),
            ev.TurnCompleted("t1", "interrupted"),
        )
        [turn] = writer.state.turns
        assert turn.items_complete
        assert await complete_items(writer, [turn]) == []
        return [msgspec.json.decode(item) for item in turn.items]


async def test_the_result_of_an_interrupted_call_that_came_late_is_read_from_the_rollout(
    tmp_path: Path,
) -> None:
    rollout = written(tmp_path / "rollout", [PROMPT, CALL, RESULT])
    assert await completed(rollout, PROMPT, CALL) == [PROMPT, CALL, RESULT]


async def test_the_notice_of_an_interruption_that_codex_does_not_report_is_read_from_the_rollout(
    tmp_path: Path,
) -> None:
    """Codex 0.133 reports the result, and not the notice."""
    rollout = written(tmp_path / "rollout", [PROMPT, CALL, RESULT, NOTICE])
    assert await completed(rollout, PROMPT, CALL, RESULT) == [PROMPT, CALL, RESULT, NOTICE]


async def test_a_call_without_a_result_anywhere_stays_as_it_is(tmp_path: Path) -> None:
    rollout = written(tmp_path / "rollout", [PROMPT, CALL])
    assert await completed(rollout, PROMPT, CALL) == [PROMPT, CALL]


async def test_the_journal_is_read_once_for_items_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readings: list[frozenset[str]] = []
    inner = ThreadWriter.turns_in_journal

    async def counted(self: ThreadWriter, turn_ids: frozenset[str], *others: Any) -> TurnsRead:
        readings.append(turn_ids)
        return await inner(self, turn_ids, *others)

    monkeypatch.setattr(ThreadWriter, "turns_in_journal", counted)
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        rollout = tmp_path / "rollout"
        writer.record_facts(
            ev.ProviderThreadBound(1, "p1", str(rollout), raw_events=False),
            ev.TurnStarted("t1", 1),
            ev.EntryRecorded("t1", "e1", "activity", "commandExecution", "ls"),
            ev.TurnCompleted("t1", "completed"),
        )
        [turn] = writer.state.turns
        lost = await complete_items(writer, [turn])
        assert "1 turn" in lost[0]
        assert await complete_items(writer, [turn]) == lost
        assert readings == [frozenset({"t1"})]
        written(rollout, [PROMPT, CALL, RESULT])
        assert await complete_items(writer, [turn]) == []
        assert [msgspec.json.decode(item) for item in turn.items] == [PROMPT, CALL, RESULT]
        assert writer.lost_items == set()
