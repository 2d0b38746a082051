"""How much of a rollout is read for the items of a few turns."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from trimpoint.codex.history import rollout
from trimpoint.codex.history.rollout import items_by_turn, items_of_turns


def line(kind: str, **payload: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "payload": payload})


def message(role: str, text: str) -> bytes:
    return line(
        "response_item", type="message", role=role, content=[{"type": "input_text", "text": text}]
    )


def conversation(turns: int) -> list[bytes]:
    lines = [message("developer", "instructions")]
    for number in range(turns):
        turn_id = f"turn-{number}"
        output = "x" * 200
        lines += [
            line("event_msg", type="task_started", turn_id=turn_id),
            message("user", f"prompt {number}"),
            line("response_item", type="function_call_output", call_id="c", output=output),
            message("assistant", f"answer {number}"),
            line("event_msg", type="task_complete", turn_id=turn_id),
        ]
    return lines


@pytest.fixture
def decoded_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts what is read of lines and of their payloads."""
    counted = [0]
    inner = rollout._decode_line

    def count(read: bytes) -> Any:
        counted[0] += len(read)
        return inner(read)

    monkeypatch.setattr(rollout, "_decode_line", count)
    return counted


@pytest.mark.parametrize("turns", [3_000, 30_000])
def test_the_newest_turn_is_read_from_the_end(turns: int, decoded_bytes: list[int]) -> None:
    newest = f"turn-{turns - 1}"
    found = items_of_turns(conversation(turns), [newest])
    assert (list(found), len(found[newest].own)) == ([newest], 3)
    assert decoded_bytes[0] < 2_000


def some_of(turns: int) -> Sequence[list[str]]:
    return [[], ["turn-0"], [f"turn-{turns - 1}", "turn-2"], ["unknown"], ["unknown", "turn-1"]]


@pytest.mark.parametrize("wanted", some_of(5))
def test_the_items_are_those_of_the_whole_rollout(wanted: list[str]) -> None:
    lines = [*conversation(4), b"not JSON", *conversation(5)[-5:]]
    whole = items_by_turn(lines)
    expected = {turn_id: whole[turn_id] for turn_id in wanted if turn_id in whole}
    assert items_of_turns(lines, wanted) == expected


def test_a_review_that_begins_under_another_id_is_found() -> None:
    lines = [
        *conversation(2),
        line("event_msg", type="task_started", turn_id="reviewers"),
        message("assistant", "finding"),
        line("event_msg", type="task_complete", turn_id="review"),
    ]
    assert len(items_of_turns(lines, ["review"])["review"].own) == 1
