"""Where the copy ends with which a fork of older versions of Codex begins."""

import uuid
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from trimpoint.sessionlogs.codex.copies import still_copied
from trimpoint.sessionlogs.codex.rows import Row

BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def at(milliseconds: int) -> str:
    moment = BEGUN + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def turn_begins(milliseconds: int, written: int) -> Row:
    """The row in which a turn begins whose id was made at that time."""
    made = int((BEGUN + timedelta(milliseconds=milliseconds)).timestamp() * 1000)
    turn = uuid.UUID(int=made << 80 | 7 << 76 | 2 << 62)
    event = {"type": "task_started", "turn_id": str(turn)}
    return Row("event_msg", at(written), payload=msgspec.Raw(msgspec.json.encode(event)))


@pytest.mark.parametrize(("made", "copied"), [(-5000, True), (-100, True), (10, False)])
def test_a_turn_from_just_before_a_fork_belongs_to_the_copy(made: int, copied: bool) -> None:
    row = turn_begins(made, 20)
    assert still_copied(at(15), row, at(0)) == (row.timestamp if copied else None)


def test_without_the_time_of_the_fork_a_turn_of_the_last_moment_is_its_own() -> None:
    assert still_copied(at(15), turn_begins(-100, 20), None) is None
