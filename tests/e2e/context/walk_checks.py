"""Checks of what a thread says of itself, after each step of a walk."""

from typing import Any

from tests.e2e.expectation import (
    ExpectedThread,
)


def check_counts(snapshot: dict[str, Any], expected: ExpectedThread) -> None:
    first_active = len(expected.turns) - len(expected.active)
    assert [turn["status"] for turn in snapshot["turns"]] == [
        turn.status for turn in expected.turns
    ]
    assert [turn["trimmed"] for turn in snapshot["turns"]] == [
        index < first_active for index in range(len(expected.turns))
    ]
    assert snapshot["turnCount"] == len(expected.turns)
    assert snapshot["activeTurnCount"] == len(expected.active)
    assert snapshot["messageCount"] == sum(turn.message_count for turn in expected.turns)
    assert snapshot["activeMessageCount"] == expected.active_message_count
    assert snapshot["compactionCount"] == sum(trim.trigger == "compact" for trim in expected.trims)
    assert snapshot["pendingRequests"] == []


def check_trim_points(
    snapshot: dict[str, Any], expected: ExpectedThread, entry_ids: list[str]
) -> None:
    turn_ids = [turn["id"] for turn in snapshot["turns"]]
    points = snapshot["contextTrimPoints"]
    assert len({point["id"] for point in points}) == len(points) == len(expected.trims)
    for point, trim in zip(points, expected.trims, strict=True):
        first = trim.turn_index - trim.pruned
        entries_before = sum(len(turn.lines) for turn in expected.turns[: trim.turn_index])
        assert point["prunedTurnIds"] == turn_ids[first : trim.turn_index]
        assert point["prunedMessageCount"] == trim.message_count
        assert (point["trigger"], point["summary"], point["status"]) == (
            trim.trigger,
            trim.summary,
            "applied",
        )
        assert point["beforeEntryId"] == (entry_ids[entries_before - 1] if entries_before else None)
        assert point["firstKeptTurnId"] == (turn_ids[trim.turn_index] if trim.kept else None)
    generations = [point["generation"] for point in points]
    assert generations == sorted(set(generations))
