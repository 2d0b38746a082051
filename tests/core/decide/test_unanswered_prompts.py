"""A prompt that came into a turn as it ended, and that the model was not asked about."""

import pytest
from trimpoint.core.decide.queueing import ends_unanswered
from trimpoint.core.model import events as ev

from tests.core.given import assistant, started, user

ANSWER, LATE = assistant("t1", "done"), user("t1", "and this")


@pytest.mark.parametrize(
    ("said", "status", "is_unanswered"),
    [
        ([user("t1", "do it"), ANSWER, LATE], "completed", True),
        ([user("t1", "do it"), LATE, ANSWER], "completed", False),
        # The model was asked, and said nothing.
        ([user("t1", "do it")], "completed", False),
        ([], "completed", False),
        ([user("t1", "do it"), ANSWER, LATE], "interrupted", False),
    ],
)
def test_a_turn_ends_unanswered_behind_an_answer(
    said: list[ev.EntryRecorded], status: str, is_unanswered: bool
) -> None:
    thread = started()
    thread.report(ev.TurnStarted("t1", 1), *said, ev.TurnCompleted("t1", status))
    assert ends_unanswered(thread.state, "t1") == is_unanswered


def test_only_the_newest_turn_is_answered_anew() -> None:
    thread = started()
    thread.report(ev.TurnStarted("t1", 1), ANSWER, LATE, ev.TurnCompleted("t1", "completed"))
    thread.report(ev.TurnStarted("t2", 1))
    assert not ends_unanswered(thread.state, "t1")
    assert not ends_unanswered(thread.state, "another")
