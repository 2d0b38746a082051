"""Formats the results for people and for scripts."""

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.measures import Outcome
from benchmarks.rows import Row

Results = list[tuple[Row, Outcome]]
# Each with its reason.
Failed = Sequence[tuple[Row, str]]


def is_met(results: Results) -> bool:
    """Returns whether every bar was met."""
    return all(verdict.is_met for _, outcome in results for verdict in outcome.verdicts)


def lines(outcome: Outcome) -> list[str]:
    """Returns what a row has found, a line for each verdict and figure."""
    judged = [
        f"{verdict.what}: {readable(verdict.value)} {verdict.bar.unit}, bar {verdict.bar}, "
        f"{'met' if verdict.is_met else 'missed'}"
        for verdict in outcome.verdicts
    ]
    measured = [
        f"{figure.what}: {readable(figure.median)} {figure.unit}" for figure in outcome.figures
    ]
    return judged + measured


def show(console: Console, results: Results, failed: Failed = ()) -> None:
    """Prints two tables, verdicts and figures, and the rows that failed."""
    verdicts = _table("judged", "bar", "measured", "", "judged by")
    figures = _table("measured", "least", "median", "most", "unit")
    for _, outcome in results:
        for verdict in outcome.verdicts:
            mark = Text("met", "green") if verdict.is_met else Text("missed", "red bold")
            value = f"{readable(verdict.value)} {verdict.bar.unit}"
            verdicts.add_row(
                verdict.what, str(verdict.bar), value, mark, Text(verdict.judged_by, "dim")
            )
        for figure in outcome.figures:
            figures.add_row(
                figure.what, *map(readable, (figure.least, figure.median, figure.most)), figure.unit
            )
        figures.add_section()
        verdicts.add_section()
    console.print(verdicts)
    console.print(figures)
    for row, reason in failed:
        console.print(Text(f"failed: {row.name} ({row.what}): {reason}", "red bold"))
        if row.needs:
            console.print(f"  It needs {row.needs}.", highlight=False)
    console.print(Text(machine(), "dim"))


def as_json(results: Results, *, quick: bool, failed: Failed = ()) -> str:
    """Returns all results as JSON."""
    document: dict[str, Any] = {
        "measuredAt": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "quick": quick,
        "met": is_met(results) and not failed,
        "rows": [_row(row, outcome) for row, outcome in results],
        "failed": [{"name": row.name, "reason": reason} for row, reason in failed],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def machine() -> str:
    """Returns the kind of this machine and its load, as text."""
    cores, load = os.cpu_count() or 1, os.getloadavg()
    kernel = platform.release().split("-")[0]
    return (
        f"{cores} cores, {platform.system()} {kernel}, Python {platform.python_version()}, load "
        f"{load[0]:.1f}"
    )


def write(path: Path, text: str) -> None:
    """Writes the JSON to a file."""
    path.write_text(text + "\n", encoding="utf-8")


def readable(value: float) -> str:
    """Returns a number with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _row(row: Row, outcome: Outcome) -> dict[str, Any]:
    verdicts = [
        {
            "what": verdict.what,
            "value": verdict.value,
            "unit": verdict.bar.unit,
            "bar": verdict.bar.limit,
            "atLeast": verdict.bar.at_least,
            "met": verdict.is_met,
            "judgedBy": verdict.judged_by,
        }
        for verdict in outcome.verdicts
    ]
    figures = [
        {
            "what": figure.what,
            "unit": figure.unit,
            "least": figure.least,
            "median": figure.median,
            "samples": list(figure.samples),
        }
        for figure in outcome.figures
    ]
    return {"name": row.name, "what": row.what, "verdicts": verdicts, "figures": figures}


def _table(*columns: str) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        is_number = column in {"measured", "least", "median", "most", "bar"} and number > 0
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    return table
