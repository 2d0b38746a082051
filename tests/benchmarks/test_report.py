"""The results of benchmarks are judged correctly, and reported alike to people and to scripts."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.__main__ import run_rows
from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.report import as_json, is_met, readable, show
from benchmarks.rows import ROWS, Row
from benchmarks.stage import Bench


def outcome(value: float) -> Outcome:
    return Outcome(
        [Verdict("ours : theirs", value, at_least(2, "×"), "wall clock")],
        [Figure("ours", "ms", [3.0, 1.0, 2.0])],
    )


ROW = Row("row", "A row", lambda _: outcome(2))


@pytest.mark.parametrize(
    ("bar", "value", "met"),
    [
        (at_least(2, "×"), 2.0, True),
        (at_least(2, "×"), 1.99, False),
        (at_most(5, "ms"), 5.0, True),
        (at_most(5, "ms"), 5.01, False),
    ],
)
def test_a_bar_is_met_up_to_its_limit(bar: object, value: float, met: bool) -> None:
    assert Verdict("", value, bar, "").is_met is met  # type: ignore[arg-type]


def test_one_missed_bar_fails_the_whole_report() -> None:
    assert is_met([(ROW, outcome(2))])
    assert not is_met([(ROW, outcome(2)), (ROW, outcome(1))])


def test_a_script_gets_every_sample_and_the_verdict() -> None:
    document = json.loads(as_json([(ROW, outcome(1.5))], quick=True))
    assert (document["met"], document["quick"]) == (False, True)
    [row] = document["rows"]
    assert row["verdicts"] == [
        {
            "what": "ours : theirs",
            "value": 1.5,
            "unit": "×",
            "bar": 2,
            "atLeast": True,
            "met": False,
            "judgedBy": "wall clock",
        }
    ]
    assert row["figures"] == [
        {"what": "ours", "unit": "ms", "least": 1.0, "median": 2.0, "samples": [3.0, 1.0, 2.0]}
    ]


def test_a_person_sees_which_bar_was_missed() -> None:
    console = Console(file=io.StringIO(), width=120)
    show(console, [(ROW, outcome(1.5))])
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "≥ 2 ×" in shown
    assert "1.5 ×" in shown
    assert "missed" in shown


def test_a_row_that_fails_costs_no_other_and_is_named_with_what_it_needs(tmp_path: Path) -> None:
    def fail(_: Bench) -> Outcome:
        raise FileNotFoundError("no page")

    console = Console(file=io.StringIO(), width=120)
    rows = [Row("page", "The page", fail, needs="Chromium"), ROW]
    results, failed = run_rows(rows, Bench(tmp_path, quick=True), console)
    assert [row.name for row, _ in results] == ["row"]
    show(console, results, failed)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "failed: page (The page): FileNotFoundError: no page" in shown
    assert "It needs Chromium." in shown
    assert "  ours : theirs: 2 ×, bar ≥ 2 ×, met\n  ours: 2 ms" in shown
    document = json.loads(as_json(results, quick=True, failed=failed))
    assert (document["met"], [row["name"] for row in document["failed"]]) == (False, ["page"])


@pytest.mark.parametrize(
    ("value", "text"), [(1_234_567.8, "1,234,568"), (99.96, "100"), (0.01234, "0.0123")]
)
def test_three_digits_are_shown(value: float, text: str) -> None:
    assert readable(value) == text


@pytest.mark.processes
@pytest.mark.parametrize("name", ["relay", "append"])
def test_a_row_runs_and_finds_something(name: str, tmp_path: Path) -> None:
    [row] = [row for row in ROWS if row.name == name]
    found = row.run(Bench(tmp_path, quick=True))
    assert found.verdicts
    assert all(figure.least > 0 for figure in found.figures)
