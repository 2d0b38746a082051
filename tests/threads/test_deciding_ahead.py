"""A command that weighs the whole context is decided beside the event loop, and on the present state."""

from threading import get_ident
from typing import Any

import msgspec
import pytest
from trimpoint.core.decide.decider import decide
from trimpoint.core.evolve import discard_folds
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing import deciding_ahead
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol.commands import DiscardContext, TrimContext, UndoTrim

from tests.threads.stage import THREAD, Disk, Store, begin, turn

TURNS = 100
SAID = msgspec.json.encode({"type": "message", "role": "user", "content": [{"text": "hello"}]})


async def cleared(registry: ThreadRegistry) -> ThreadWriter:
    writer = await begin(registry)
    writer.record_facts(*(fact for number in range(TURNS) for fact in turn(f"T{number}")))
    await writer.execute(TrimContext(command_id="clear", thread_id=THREAD))
    operation = writer.state.operation
    assert operation is not None
    writer.record_facts(ev.OperationAdvanced(operation.id, "ready", ""))
    return writer


@pytest.fixture
def decided_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects the thread of each decision about an undo."""
    threads: list[int] = []

    def counted(state: Any, command: Any, *others: Any) -> Any:
        if isinstance(command, UndoTrim):
            threads.append(get_ident())
        return decide(state, command, *others)

    monkeypatch.setattr(deciding_ahead, "decide", counted)
    return threads


async def test_a_long_decision_is_made_in_a_thread(decided_in: list[int]) -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await cleared(registry)
        await writer.execute(UndoTrim(command_id="undo", thread_id=THREAD))
        assert writer.state.active_turn_count == TURNS
        assert len(decided_in) == 1
        assert get_ident() not in decided_in


@pytest.mark.parametrize("changes", [1, 3])
async def test_a_decision_about_an_older_state_does_not_count(
    monkeypatch: pytest.MonkeyPatch, decided_in: list[int], changes: int
) -> None:
    left = [changes]
    off_loop = deciding_ahead.off_loop

    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await cleared(registry)

        async def changed_meanwhile(state: Any, view: Any) -> Any:
            found = await off_loop(state, view)
            if left[0]:
                left[0] -= 1
                writer.record_facts(*turn(f"later {left[0]}"))
            return found

        monkeypatch.setattr(deciding_ahead, "off_loop", changed_meanwhile)
        result = await writer.execute(UndoTrim(command_id="undo", thread_id=THREAD))
        opened = next(one for one in result.record.events if isinstance(one, ev.GenerationOpened))
        assert len(opened.turn_ids) == TURNS + changes
        assert (get_ident() in decided_in) == (changes == 3)


async def test_a_repeated_command_is_not_decided_again(decided_in: list[int]) -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await cleared(registry)
        command = UndoTrim(command_id="undo", thread_id=THREAD)
        first = await writer.execute(command)
        decided_in.clear()
        assert (await writer.execute(command)).record.events == first.record.events
        assert decided_in == []


async def test_what_a_discard_names_is_looked_for_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_in: list[int] = []
    inner = discard_folds._entries_named

    def counted(*arguments: Any) -> Any:
        looked_in.append(get_ident())
        return inner(*arguments)

    monkeypatch.setattr(discard_folds, "_entries_named", counted)
    policy = Policy(discard=DiscardPolicy(floor_tokens=0))
    async with ThreadRegistry.running(Store(Disk()), policy) as registry:
        writer = await begin(registry)
        for number in range(TURNS):
            begun, entry, ended = turn(f"T{number}")
            items = ev.ContextItemsRecorded(f"T{number}", (SAID,), "rollout")
            writer.record_facts(begun, entry, items, ended)
        discard = DiscardContext(command_id="discard", thread_id=THREAD, target_tokens=100)
        await writer.execute(discard)
        [made] = writer.state.discards
    assert len(made.entries) > TURNS // 2
    assert looked_in
    assert get_ident() not in looked_in
