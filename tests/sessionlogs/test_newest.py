"""The newest entries of a long session are read from its end, and are those of the whole."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.cli.main import main
from trimpoint.sessionlogs import newest
from trimpoint.sessionlogs.newest import newest_entries
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint.sessionlogs.timeline import dividers_of, timeline_of

from benchmarks.budgets.real_sessions import session_rows
from tests.sessionlogs.claude_rows import (
    answer,
    boundary,
    prompt,
    random_rows,
    summary,
    text,
    write,
)
from tests.sessionlogs.sessions import only_session

NUMBERED = ("id", "turnId", "trimPointId")


def said(entries: list[Any]) -> list[dict[str, Any]]:
    """The entries without the numbers of messages and dividers."""
    return [
        {name: value for name, value in msgspec.to_builtins(one).items() if name not in NUMBERED}
        for one in entries
    ]


def whole(session: FoundSession) -> list[dict[str, Any]]:
    return said(list(timeline_of(Reading(session), dividers_of(Reading(session)), set())))


def turns(count: int, size: int = 300, first: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for turn in range(first, first + count):
        newest = rows[-1]["uuid"] if rows else None
        rows.append(prompt(f"u{turn}", newest, f"prompt {turn}"))
        rows.append(answer(f"a{turn}", f"u{turn}", text("word " * size)))
        if turn % 20 == 19:
            rows += [boundary(f"b{turn}"), summary(f"s{turn}", f"b{turn}", f"S{turn}")]
    return rows


@pytest.fixture
def small_endings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest, "ENDING_BYTES", (16_000, 64_000, 128_000))


@pytest.mark.usefixtures("small_endings")
@pytest.mark.parametrize("limit", [1, 5, 9])
def test_the_newest_entries_are_those_of_the_whole_session(tmp_path: Path, limit: int) -> None:
    write(tmp_path, turns(230))
    session = only_session(tmp_path)
    found = newest_entries(session, limit)
    assert found is not None
    assert said(found) == whole(session)[-limit:]


@pytest.mark.usefixtures("small_endings")
def test_a_session_with_rows_of_every_kind_has_the_same_newest_entries(tmp_path: Path) -> None:
    found_any = 0
    for seed in range(150):
        chance = random.Random(seed)
        rows = [*turns(90, 10, 100), *random_rows(chance, repeated=0), *turns(40, 10, 200)]
        folder = tmp_path / str(seed)
        write(folder, rows[: 200 + seed])
        session = only_session(folder)
        found = newest_entries(session, 3)
        if found is not None:
            found_any += 1
            assert said(found) == whole(session)[-3:], seed
    assert found_any > 30


def test_a_session_as_long_work_makes_it_has_the_same_newest_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "ENDING_BYTES", (300_000,))
    write(tmp_path, list(session_rows(800_000)))
    session = only_session(tmp_path)
    found = newest_entries(session, 5)
    assert found is not None
    assert said(found) == whole(session)[-5:]


@pytest.mark.usefixtures("small_endings")
@pytest.mark.parametrize(
    "last",
    [
        pytest.param(prompt("r", "a3", "again"), id="a rewind to before the end"),
        pytest.param(boundary("b", ["u3", "a3"]), id="kept messages from before the end"),
        pytest.param({"type": "queue-operation", "operation": "remove"}, id="a queued prompt"),
    ],
)
def test_an_end_that_needs_what_stands_before_is_not_read_alone(
    tmp_path: Path, last: dict[str, Any]
) -> None:
    write(tmp_path, [*turns(200), last])
    assert newest_entries(only_session(tmp_path), 1) is None


def test_the_command_shows_the_same_from_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, turns(205))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    shown: list[str] = []
    for sizes in ((), (64_000, 128_000)):
        monkeypatch.setattr(newest, "ENDING_BYTES", sizes)
        assert main(["sessions", "show", path.stem, "--agent", "claude", "-n", "3"]) == 0
        shown.append(capsys.readouterr().out.replace(", or --expand all", ""))
    assert shown[0] == shown[1]
    assert "prompt 204" in shown[0]
