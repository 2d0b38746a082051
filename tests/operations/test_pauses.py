"""Turns that the daemon ends itself: what is recorded of their end, and what clients are told."""

import pytest
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.operations.routing.pauses import Pauses

from tests.core.given import raw_message

NOTICE = ev.ContextItemsRecorded(
    "t1", (raw_message("user", "<turn_aborted>\nThe user interrupted the previous turn."),)
)
SAID = ev.ContextItemsRecorded("t1", (raw_message("user", "what is <turn_aborted>?"),))


def ended(turn_id: str = "t1", status: str = "interrupted") -> CodexMessage:
    turn = {"id": turn_id, "status": status, "error": {"message": "stopped"}, "durationMs": 5}
    return CodexMessage.compose("turn/completed", {"threadId": "c", "turn": turn})


def test_the_interruption_of_a_paused_turn_is_recorded_as_its_end_without_the_notice() -> None:
    pauses = Pauses()
    pauses.begin("thread", "t1")
    interrupted = ev.TurnCompleted("t1", "interrupted", "stopped")
    paused = ev.TurnCompleted("t1", "completed", error_kind=ev.PAUSED)
    assert pauses.facts("thread", (SAID, NOTICE, interrupted)) == (SAID, paused)
    assert pauses.told("thread", ended()).object("turn") == {
        "id": "t1",
        "status": "completed",
        "error": None,
        "durationMs": 5,
    }


@pytest.mark.parametrize("message", [ended("t2"), ended(status="failed")])
def test_other_ends_are_told_as_they_are(message: CodexMessage) -> None:
    pauses = Pauses()
    pauses.begin("thread", "t1")
    turn = message.object("turn")
    other = ev.TurnCompleted(str(turn["id"]), str(turn["status"]))
    assert pauses.told("thread", message) is message
    assert pauses.facts("thread", (other,)) == (other,)


def test_a_person_who_stops_the_turn_in_that_moment_is_told_so() -> None:
    pauses = Pauses()
    pauses.begin("thread", "t1")
    pauses.end("thread")
    facts = (NOTICE, ev.TurnCompleted("t1", "interrupted"))
    message = ended()
    assert pauses.told("thread", message) is message
    assert pauses.facts("thread", facts) is facts
