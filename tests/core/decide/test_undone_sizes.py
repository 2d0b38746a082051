"""The size of the context after an undo: as it was measured, with what has come since."""

import pytest
from trimpoint.core.context.injections import injection
from trimpoint.core.context.measured_sizes import measured_turn
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.views.trim_outcome import planned_change
from trimpoint.core.views.view import read_model
from trimpoint_protocol import commands as wire
from trimpoint_protocol.readmodel import ContextStatus

from tests.core.given import Conversation, assistant, client, raw_message, raw_turn, started
from tests.core.pinning import pin
from tests.core.undoing import FREE, undo
from tests.core.usage import call

USED = 40_010


def measured() -> Conversation:
    """Returns a thread of six turns, whose context was measured."""
    thread = started(turns=5, policy=FREE)
    turn_id = thread.begin_turn("sixth")
    thread.report(
        assistant(turn_id, "sixth answer"),
        ev.ContextItemsRecorded(turn_id, raw_turn("sixth", "sixth answer")),
        call(turn_id, USED - 10, 90_000),
        ev.TurnCompleted(turn_id, "completed"),
    )
    return thread


def clear(thread: Conversation) -> None:
    thread.clear(thread.state.active_turn_count - 1)


def compact(thread: Conversation) -> None:
    thread.compact("in short", thread.state.active_turn_count - 1)


def compress(thread: Conversation) -> None:
    turn = thread.state.turns[-2 - len(thread.state.discards)]
    entry = thread.state.entries_of(turn)[0]
    thread.do(client(wire.DiscardContext, entry_ids=[entry.id]))
    thread.settle()


def size(thread: Conversation) -> ContextStatus:
    found = read_model(thread.state, Policy()).context
    assert read_model(thread.replayed(), Policy()).context == found
    return found


def undone(thread: Conversation) -> ContextStatus:
    """Undoes the newest trim; what was announced is what comes."""
    planned = planned_change(thread.state, client(wire.UndoTrim), Policy())
    undo(thread)
    found = size(thread)
    assert (planned.after, planned.after_estimated) == (found.used_tokens, found.estimated)
    return found


TRIMS = [clear, compact, compress]


@pytest.mark.parametrize("second", TRIMS)
@pytest.mark.parametrize("first", TRIMS)
def test_several_undos_bring_the_measured_size_back(first: object, second: object) -> None:
    thread = measured()
    first(thread)  # type: ignore[operator]
    second(thread)  # type: ignore[operator]
    assert undone(thread).estimated
    found = undone(thread)
    assert (found.used_tokens, found.estimated) == (USED, False)


@pytest.mark.parametrize("trim", TRIMS)
def test_an_undo_that_was_taken_back_meanwhile_brings_it_back(trim: object) -> None:
    thread = measured()
    trim(thread)  # type: ignore[operator]
    undo(thread)
    undo(thread, redo=True)
    assert size(thread).estimated
    assert undone(thread).used_tokens == USED


@pytest.mark.parametrize("trim", TRIMS)
def test_what_came_since_is_added_to_the_measured_size(trim: object) -> None:
    thread = measured()
    trim(thread)  # type: ignore[operator]
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 9_000, 99_000), ev.TurnCompleted(turn_id, "completed"))
    thread.turn("and then", "many words " * 300)
    found = undone(thread)
    assert found.estimated
    assert USED + 500 < found.used_tokens < USED + 1_500


def test_a_context_with_another_pin_is_estimated() -> None:
    thread = measured()
    thread.clear(0)
    pin(thread, note="Python 3.8 only")
    assert undone(thread).estimated
    assert measured_turn(thread.state, thread.state.generation.number) is None


def test_a_context_that_codex_had_compacted_is_estimated() -> None:
    thread = measured()
    turn_id = thread.state.turns[-1].id
    thread.report(ev.EntryRecorded(turn_id, "c", "activity", "contextCompaction", "by Codex"))
    thread.clear(0)
    undo(thread, force=True)
    assert size(thread).estimated
    assert measured_turn(thread.state, thread.state.generation.number) is None


def test_a_context_into_which_something_was_injected_is_estimated() -> None:
    thread = measured()
    thread.clear(5)
    thread.report(*injection(thread.state, [raw_message("user", "many words " * 300)]))
    found = undone(thread)
    assert found.estimated
    assert found.used_tokens > USED + 500
