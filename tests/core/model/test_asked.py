"""What the agent asked a person, and what was answered, is an entry of the ledger."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.model.asked import asked_and_answered

ASKING: dict[str, Any] = {
    "threadId": "t",
    "turnId": "turn-1",
    "itemId": "call-1",
    "questions": [
        {"id": "colour", "header": "Colour", "question": "Which one?"},
        {"id": "why", "question": "And why?"},
        {"id": "key", "question": "The key?", "isSecret": True},
    ],
}


def test_an_answered_question_is_an_entry_of_the_call_that_asked() -> None:
    entry = asked_and_answered(ASKING, {"colour": ["Blue", "Red"], "key": ["sesame"]})
    assert entry is not None
    assert (entry.turn_id, entry.entry_id) == ("turn-1", "call-1")
    assert (entry.kind, entry.role) == ("activity", "userInput")
    assert entry.text == "Which one? Blue, Red\nAnd why? (no answer)\nThe key? ••••"
    assert msgspec.json.decode(entry.detail) == {
        "type": "userInput",
        "id": "call-1",
        "questions": [
            {"question": "Which one?", "answer": "Blue, Red"},
            {"question": "And why?", "answer": ""},
            {"question": "The key?", "answer": "••••"},
        ],
    }


@pytest.mark.parametrize("without", [{"turnId": None}, {"itemId": 7}])
def test_a_question_without_a_turn_or_a_call_has_no_entry(without: dict[str, Any]) -> None:
    assert asked_and_answered({**ASKING, **without}, {}) is None


def test_questions_of_another_form_make_an_entry_without_words() -> None:
    entry = asked_and_answered({**ASKING, "questions": [None, {"question": 3}]}, {})
    assert entry is not None
    assert entry.text == " (no answer)\n3 (no answer)"
