"""A review in a rollout begins with the id of its reviewer's turn and ends with its own (measured:
0.163).
"""

from typing import Any

import msgspec
from trimpoint.codex.history.rollout import items_by_turn, since_compaction
from trimpoint.operations.history.adoption import is_reviewers


def line(kind: str, **payload: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "payload": payload})


def message(text: str) -> bytes:
    return line(
        "response_item",
        type="message",
        role="assistant",
        content=[{"type": "output_text", "text": text}],
    )


REVIEW = [
    line("event_msg", type="task_started", turn_id="reviewer"),
    message("found nothing"),
    line("event_msg", type="task_complete", turn_id="review"),
    message("injected"),
]


def test_the_items_are_those_of_the_review() -> None:
    found = items_by_turn(REVIEW)
    assert [(turn_id, len(items.own), len(items.injected)) for turn_id, items in found.items()] == [
        ("review", 1, 1)
    ]


def test_a_compaction_before_it_counts_them_for_the_review() -> None:
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "summary"}]}
    ]
    found = since_compaction([line("compacted", replacement_history=history), *REVIEW[:3]])
    assert found is not None
    assert found[1] == {"review": 1}


def test_only_a_turn_whose_root_is_in_the_thread_is_a_reviewers() -> None:
    assert is_reviewers({"id": "reviewer", "rootTurnId": "review"}, {"review"})
    assert not is_reviewers({"id": "review", "rootTurnId": "review"}, {"review"})
    assert not is_reviewers({"id": "turn", "rootTurnId": "turn-of-a-parent"}, {"turn"})
    assert not is_reviewers({"id": "turn"}, {"turn"})
