"""The cost of a trim of a long thread, counted and not timed."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.active_context import active_turn_messages, message_count, pruned_by
from trimpoint.core.context.pins import carried_pins, pinned_turns
from trimpoint.core.evolve.evolve import DROPPED_AT_ONCE, apply, prepared, replay
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.events import Record, TrimPointCreated
from trimpoint.core.model.ledger import qualified_entry_id
from trimpoint.core.model.state import Checkpoint, ThreadState
from trimpoint.core.views.trim_outcome import undo_command
from trimpoint.core.views.view import TurnWindow, read_model

from tests.core.counted import Counted
from tests.core.given import THREAD, Conversation, started, trim
from tests.core.pinning import pin

LONG = DROPPED_AT_ONCE + 500


class CountedCheckpoints(list[Checkpoint]):
    """A list that counts the checkpoints that are read by their places."""

    looked_at = 0

    def __getitem__(self, index: Any) -> Any:
        self.looked_at += 1
        return super().__getitem__(index)


class CountedIndex(dict[str, int]):
    """An index of the turns that counts how often all of it is read."""

    walks = 0

    def __iter__(self) -> Any:
        self.walks += 1
        return super().__iter__()

    def keys(self) -> Any:
        self.walks += 1
        return super().keys()


@pytest.fixture(scope="module")
def long_records() -> list[Record]:
    thread = started()
    thread.trusts_decisions = True
    thread.turns(LONG)
    return thread.records


@pytest.fixture
def long_thread(long_records: list[Record]) -> Conversation:
    thread = Conversation()
    thread.state, thread.records = replay(long_records), list(long_records)
    return thread


def cleared(thread: Conversation, keep: int) -> Record:
    thread.do(trim(keep))
    return thread.records[-1]


def test_a_trim_of_a_long_thread_writes_no_more_than_one_of_a_short_thread(
    long_thread: Conversation,
) -> None:
    sizes = [
        len(msgspec.msgpack.encode(cleared(thread, 3)))
        for thread in (started(turns=10), long_thread)
    ]
    assert sizes[1] < sizes[0] + 40  # longer numbers and ids


def test_a_trim_of_a_long_thread_looks_at_the_turns_it_keeps_and_at_a_bounded_number_of_others(
    long_thread: Conversation,
) -> None:
    turns = long_thread.state.turns = Counted(long_thread.state.turns)
    cleared(long_thread, 3)
    # `when` encodes the state twice to prove that the decision left it alone.
    assert turns.looked_at <= DROPPED_AT_ONCE + 50


@pytest.mark.parametrize("pins", [0, 1])
def test_the_answer_to_a_trim_looks_at_no_pruned_turn(long_thread: Conversation, pins: int) -> None:
    if pins:
        pin(long_thread, 1)
    cleared(long_thread, 3)
    state = long_thread.state
    state.turns = turns = Counted(state.turns)
    state.turn_index = index = CountedIndex(state.turn_index)
    assert undo_command(state) == "/undo"
    assert len(pinned_turns(state)) == pins
    assert len(carried_pins(state, [turn.id for turn in state.active_turns])) == pins
    assert turns.looked_at <= 10
    assert index.walks == 0


def test_items_of_pruned_turns_are_dropped_with_the_records_that_follow(
    long_thread: Conversation,
) -> None:
    cleared(long_thread, 3)
    state = long_thread.state
    assert not any(turn.items for turn in state.turns[:DROPPED_AT_ONCE])
    assert state.turns[LONG - 4].items
    long_thread.report(ev.ThreadRenamed("later"))
    assert not any(turn.items for turn in state.turns[: LONG - 3])
    assert all(turn.items for turn in state.turns[LONG - 3 :])


def test_a_range_of_pruned_turns_equals_the_list_of_an_older_version() -> None:
    thread = started(turns=5)
    cleared(thread, 2)
    old = ThreadState()
    for record in thread.records:
        apply(
            old,
            msgspec.structs.replace(
                record, events=tuple(map(as_older_version_wrote, record.events))
            ),
        )
    (point,), (old_point,) = thread.state.trim_points, old.trim_points
    assert (
        pruned_by(old, old_point)
        == pruned_by(thread.state, point)
        == ["turn-1", "turn-2", "turn-3"]
    )
    assert (old_point.pruned_turn_count, old_point.turn_index) == (
        point.pruned_turn_count,
        point.turn_index,
    )


def as_older_version_wrote(event: ev.AnyEvent) -> ev.AnyEvent:
    if not isinstance(event, TrimPointCreated):
        return event
    listed = tuple(f"turn-{number}" for number in range(1, event.pruned_turn_count + 1))
    return msgspec.structs.replace(
        event, pruned_turn_ids=listed, pruned_turn_count=0, last_pruned_turn_id=None
    )


def test_messages_of_the_active_turns_are_counted_as_they_come_and_go() -> None:
    thread = started(turns=4)
    for change in (
        lambda: thread.clear(2),
        thread.turn,
        lambda: thread.compact("in short"),
        lambda: thread.turns(3),
        lambda: thread.report(ev.TurnsRolledBack("turn-7")),
        lambda: thread.report(ev.EntryRecorded("turn-1", "late", "message", "assistant", "late")),
        lambda: thread.report(ev.TurnsRolledBack("turn-2")),
    ):
        change()
        state = thread.state
        assert active_turn_messages(state) == message_count(state, state.active_turns)
    assert thread.state.id == THREAD


def test_a_discard_names_the_entries_of_a_long_thread_as_of_a_short_one(
    long_thread: Conversation,
) -> None:
    state = long_thread.state
    named = tuple(turn.id for turn in state.turns[5:500])
    entries = [entry for entry in state.entries if entry.turn_id in named]
    plain = tuple(entry.id for entry in entries[::2])
    qualified = tuple(qualified_entry_id(entry.turn_id, entry.id) for entry in entries[1::2])
    items = tuple((turn_id, (0, 1)) for turn_id in reversed(named))
    long_thread.report(
        ev.ContextDiscarded(THREAD, "d", 0, plain + qualified, items, 2, "discard", 1)
    )
    discard = state.discards[-1]
    assert list(discard.entries) == [*reversed(named)]
    assert all(
        found == tuple(entry.id for entry in state.entries_of(state.turns[state.turn_index[one]]))
        for one, found in discard.entries.items()
    )
    assert set(discard.messages.values()) == {2}


def test_a_discard_that_was_prepared_is_what_it_is_otherwise_and_looks_at_no_turn(
    long_thread: Conversation,
) -> None:
    state = long_thread.state
    named = tuple(entry.id for entry in state.entries)
    turn_ids = tuple(turn.id for turn in state.turns)
    event = ev.ContextMasked(
        THREAD, "d", 0, named[::2], tuple((turn_id, (0,)) for turn_id in turn_ids), 2, "discard", 1,
        named[1::2], tuple((turn_id, ((1, "h1.1"),)) for turn_id in turn_ids),
    )  # fmt: skip
    folds = prepared(state, (event,))
    state.turns = turns = Counted(state.turns)
    state.entries = entries = Counted(state.entries)
    record = Record(1, 1, 0, (event,))
    apply(state, record, folds)
    assert (turns.looked_at, entries.looked_at) == (0, 0)
    apply(state, record)
    assert entries.looked_at >= len(entries)
    assert state.discards[0] == state.discards[1]


def test_a_window_of_a_snapshot_reads_the_checkpoints_of_its_turns_alone(
    long_thread: Conversation,
) -> None:
    state = long_thread.state
    for turn in state.turns[-50:]:
        long_thread.report(ev.CheckpointCaptured(turn.id, "after", "/r", f"ref {turn.id}", "c"))
    long_thread.report(ev.CheckpointFailed(None, "safety", "no git"))
    state.checkpoints = checkpoints = CountedCheckpoints(state.checkpoints)
    shown = read_model(state, Policy(), window=TurnWindow(3)).checkpoints
    assert [one.turn_id for one in shown] == [*(turn.id for turn in state.turns[-3:]), None]
    assert checkpoints.looked_at == 4
    assert len(read_model(state, Policy()).checkpoints) == 51
