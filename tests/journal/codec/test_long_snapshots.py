"""What changes at the end of a long thread that was read from a snapshot decodes none of its
beginning, and an entry is found wherever late entries and reverts have put it.
"""

import random
from contextlib import suppress
from typing import Any

import pytest
from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.lazy_list import LazyIndex, LazyList
from trimpoint.journal.codec.snapshots import SnapshotWriter, decode_snapshot
from trimpoint.journal.port import Bookmark, Position

from tests.core.given import THREAD, Conversation, activity, assistant, started
from tests.threads.lengths import lengthen

FEW_PARTS = 40


def long_thread(turns: int) -> ThreadState:
    state = started().state
    lengthen(state, turns)
    state.generations[0].turn_count = turns
    writer = SnapshotWriter(THREAD, state, Bookmark(Position(0, 0), b""))
    parts = [bytes(part) for part in writer]
    found = decode_snapshot(memoryview(b"".join([writer.head(), *parts])), THREAD)
    assert found is not None
    return found.state


def decoded_parts(state: ThreadState) -> int:
    """Returns how many chunks and buckets of a state were decoded."""
    lists: list[Any] = [state.turns, state.entries, state.checkpoints]
    indexes: list[Any] = [state.turn_index, state.entry_turns, state.checkpoint_places]
    parts: list[Any] = [one._packed for one in lists if isinstance(one, LazyList)]
    parts += [one._buckets for one in indexes if isinstance(one, LazyIndex)]
    assert len(parts) == len(lists) + len(indexes)
    return sum(not isinstance(part, memoryview) for held in parts for part in held)


@pytest.mark.parametrize("turns", [3_000, 30_000])
@pytest.mark.parametrize("behind", [2, 50])
def test_a_late_entry_decodes_what_lies_behind_it(turns: int, behind: int) -> None:
    state = long_thread(turns)
    late = ev.EntryRecorded(f"T{turns - behind}", "late", "activity", "commandExecution", "ls")
    apply(state, ev.Record(state.sequence + 1, state.thread_sequence + 1, 1, (late,)))
    place = state.place_of("late")
    assert place is not None
    assert state.entries[place].id == "late"
    assert decoded_parts(state) <= FEW_PARTS


@pytest.mark.parametrize("turns", [3_000, 30_000])
def test_a_revert_decodes_what_it_takes_back(turns: int) -> None:
    state = long_thread(turns)
    back = ev.TurnsRolledBack(f"T{turns - 2}")
    apply(state, ev.Record(state.sequence + 1, state.thread_sequence + 1, 1, (back,)))
    assert len(state.turns) == turns - 2
    assert decoded_parts(state) <= FEW_PARTS


@pytest.mark.parametrize("seed", range(30))
def test_an_entry_is_found_where_late_entries_and_reverts_have_put_it(seed: int) -> None:
    chance, thread = random.Random(seed), started(turns=2)
    for number in range(12):
        with suppress(AssertionError):  # it is refused
            _act(thread, chance, number)
        newest = {entry.id: at for at, entry in enumerate(thread.state.entries)}
        assert {one: thread.state.place_of(one) for one in thread.state.entry_turns} == newest
        assert thread.replayed() == thread.state


def _act(thread: Conversation, chance: random.Random, number: int) -> None:
    turns = [turn.id for turn in thread.state.turns]
    match chance.randrange(6):
        case 0:
            thread.revert(turn_id=chance.choice(turns))
        case 1:
            thread.revert(undo=True)
        case 2:
            thread.clear(1)
        case 3:
            thread.turn(activities=["ls"])
        case _:
            # An id is used again in another turn.
            entry_id = chance.choice((f"call_{number}", "call_0"))
            told = chance.choice((activity, assistant))
            thread.report(told(chance.choice(turns), "late", entry_id))
