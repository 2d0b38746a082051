"""Reverts of a thread into which items were injected."""

from trimpoint.core.context.generations import items_beside
from trimpoint.core.decide.reverting import resolve_target, target_items
from trimpoint.core.model import events as ev
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    Conversation,
    raw_message,
    started,
    texts,
)
from tests.core.reverting import revert


def inject(thread: Conversation, item: bytes) -> None:
    """Injects an item after the last turn, which has ended."""
    last = thread.state.turns[-1].id
    thread.report(ev.ContextItemsRecorded(last, (item,), injected=1))


def in_context(thread: Conversation) -> list[str]:
    """Returns the texts that a trim which keeps everything would carry over."""
    return texts(items_beside(thread.state, len(thread.state.turns)))


def of_turns(*numbers: int) -> list[str]:
    return [f"{part} of turn-{number}" for number in numbers for part in ("prompt", "answer")]


def test_a_revert_takes_out_what_was_injected_behind_its_turn_and_its_undo_brings_it_back() -> None:
    thread = started(turns=2)
    inject(thread, INJECTED)
    thread.turn()
    assert in_context(thread) == [*of_turns(1, 2), "injected", *of_turns(3)]
    thread.revert(turn_count=2)
    assert in_context(thread) == of_turns(1, 2)
    inject(thread, SINCE)
    assert in_context(thread) == [*of_turns(1, 2), "since"]
    thread.revert(undo=True)
    assert in_context(thread) == [*of_turns(1, 2), "injected", *of_turns(3)]
    thread.revert(undo=True)
    assert in_context(thread) == [*of_turns(1, 2), "since"]
    assert thread.replayed() == thread.state


def test_a_revert_to_the_last_turn_has_something_to_do_when_items_were_injected_since() -> None:
    thread = started(turns=1)
    assert (
        thread.when(revert(turn_count=1, scope="context")).decision[0] is Reason.NOTHING_TO_REVERT
    )
    inject(thread, INJECTED)
    thread.revert(turn_count=1)
    assert in_context(thread) == of_turns(1)


def test_the_context_that_a_revert_aims_at_is_without_what_was_injected_behind_its_turn() -> None:
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.do(revert(turn_count=1, scope="context"))
    assert thread.state.operation is not None
    assert thread.state.operation.reverting is not None
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert texts(target_items(thread.state, target)) == of_turns(1)


def test_the_context_that_an_undo_aims_at_is_with_it_and_without_what_was_injected_since() -> None:
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.revert(turn_count=1)
    inject(thread, SINCE)
    thread.do(revert(undo=True))
    assert thread.state.operation is not None
    assert thread.state.operation.reverting is not None
    target = resolve_target(thread.state, thread.state.operation.reverting)
    assert target is not None
    assert texts(target_items(thread.state, target)) == [*of_turns(1), "injected", *of_turns(2)]


def test_items_that_were_read_again_after_a_revert_say_that_their_turn_was_cut_until_it_is_undone() -> (
    None
):
    thread = started(turns=1)
    inject(thread, INJECTED)
    thread.turn()
    thread.revert(turn_count=1)
    thread.clear()
    first = thread.state.turns[0]
    assert (first.is_cut, first.items) == (True, [])
    thread.revert(undo=True)
    first = thread.state.turns[0]
    assert (first.is_cut, first.items, first.injected) == (False, [], 0)


INJECTED, SINCE = raw_message("user", "injected"), raw_message("user", "since")
