"""A review is one turn of a thread, whatever the id of its reviewer's turn (measured: codex
0.163).
"""

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.reviews import ENTERED, ITEM_METADATA, is_in_review

from tests.core.given import Conversation, started


def in_review() -> Conversation:
    thread = started(turns=1)
    thread.report(
        ev.TurnStarted("review", 1), ev.EntryRecorded("review", "e", "activity", ENTERED, "review")
    )
    return thread


def item_of(turn_id: str | None) -> bytes:
    metadata = {} if turn_id is None else {ITEM_METADATA: {"turn_id": turn_id}}
    return msgspec.json.encode({"type": "message", "role": "assistant", "content": [], **metadata})


def test_the_reviewers_turn_is_no_turn_of_the_thread() -> None:
    thread = in_review()
    assert thread.report(ev.TurnStarted("reviewer", 1)) == ()
    thread.report(ev.TurnCompleted("review", "completed"))
    assert thread.state.running_turn_id is None


@pytest.mark.parametrize("turn_id", ["reviewer", None])
def test_items_of_the_reviewers_turn_are_not_recorded(turn_id: str | None) -> None:
    assert in_review().report(ev.ContextItemsRecorded("review", (item_of(turn_id),))) == ()


def test_items_of_the_review_are_recorded() -> None:
    assert in_review().report(ev.ContextItemsRecorded("review", (item_of("review"),)))


def test_an_ended_review_takes_the_items_of_its_file() -> None:
    thread = in_review()
    thread.report(ev.TurnCompleted("review", "completed"))
    assert thread.report(ev.ContextItemsRecorded("review", (item_of(None),), "rollout"))


def test_a_turn_without_entries_is_no_review() -> None:
    thread = started()
    assert not is_in_review(thread.state)
    thread.report(ev.TurnStarted("turn", 1))
    assert not is_in_review(thread.state)
