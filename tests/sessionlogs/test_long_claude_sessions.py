"""A session of Claude Code takes time in proportion to its rows, whatever rows it has."""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from trimpoint.sessionlogs.claude import reader
from trimpoint.sessionlogs.claude.branches import Branches
from trimpoint.sessionlogs.claude.reader import ClaudeReader
from trimpoint.sessionlogs.records import Records

from benchmarks.budgets.real_sessions import session_rows
from tests.sessionlogs.claude_rows import (
    SESSION,
    answer,
    boundary,
    prompt,
    random_rows,
    summary,
    text,
    write,
)
from tests.sessionlogs.sessions import document_of, lines_of, only_session


@contextmanager
def counted_steps() -> Iterator[list[int]]:
    """Counts the lines that Python executes."""
    steps = [0]

    def count(frame: FrameType, event: str, argument: object) -> Any:
        steps[0] += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield steps
    finally:
        sys.settrace(before)


def steps_for(folder: Path, turns: int) -> int:
    rows: list[dict[str, Any]] = []
    for turn in range(turns):
        rows.append(prompt(f"u{turn}", f"a{turn - 1}" if turn else None, "go on"))
        rows.append(answer(f"a{turn}", f"u{turn}", text("done")))
    write(folder, rows)
    with counted_steps() as steps:
        lines_of(only_session(folder))
    return steps[0]


def test_reading_takes_steps_in_proportion_to_the_rows(tmp_path: Path) -> None:
    few, many = steps_for(tmp_path / "few", 50), steps_for(tmp_path / "many", 400)
    assert many < 8 * few * 1.2


class AlwaysLooking(Branches):
    """Has the reader compare the live rows with the live messages at each row."""

    @property
    def rearranged(self) -> bool:
        return True

    @rearranged.setter
    def rearranged(self, value: bool) -> None:
        pass


def read(rows: list[dict[str, Any]], fates: Records | None) -> Records:
    records = Records(fates.window.fates() if fates is not None else None)
    made = ClaudeReader(SESSION, records)
    made.begin_part("file")
    for row in rows:
        made.feed(json.dumps(row).encode() + b"\n")
    made.finish()
    return records


def test_the_live_rows_are_looked_at_whenever_that_can_change_what_is_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(150):
        rows = random_rows(random.Random(seed))
        found = read(rows, read(rows, None)).ready
        with monkeypatch.context() as patched:
            patched.setattr(reader, "Branches", AlwaysLooking)
            expected = read(rows, read(rows, None)).ready
        assert msgspec.to_builtins(found) == msgspec.to_builtins(expected), seed


def test_a_boundary_that_names_its_own_summary_as_kept_is_read(tmp_path: Path) -> None:
    rows = [prompt("u1", None, "one"), boundary("b", ["s"]), summary("s", "b", "S")]
    write(tmp_path, rows)
    [found] = document_of(only_session(tmp_path)).compaction.boundaries
    assert found.summary == "S"


def test_a_session_as_long_work_makes_it_is_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path, list(session_rows(400_000)), SESSION)
    document = document_of(only_session(tmp_path))
    [first, *_] = [one for one in document.messages if one.tool_results]
    assert first.tool_results[0].output
    call = document.messages[first.tool_results[0].call_message_index or 0]
    assert call.tool_calls[0].id == first.tool_results[0].call_id
    assert call.tool_calls[0].arguments
    assert len(document.messages) > 100
    assert path.stat().st_size > 400_000


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b'"caf\xe9"', "caf\ufffd"),
        (b'[{"type":"text","text":"a"},{"type":"text","text":"\\ud800"}]', "a\ufffd"),
        (b'{"type":"text"}', ""),
        (b"7", ""),
    ],
)
def test_a_damaged_output_of_a_tool_loses_only_its_damage(
    tmp_path: Path, content: bytes, output: str
) -> None:
    row = prompt("u2", "a1", [{"type": "tool_result", "tool_use_id": "t", "content": "X"}])
    line = json.dumps(row).encode().replace(b'"X"', content) + b"\n"
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    write(tmp_path, [prompt("u1", None, "one"), answer("a1", "u1", call), line])
    [*_, found] = document_of(only_session(tmp_path)).messages
    assert found.tool_results[0].output == output
