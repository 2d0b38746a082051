"""Formats journals for the terminal."""

from datetime import datetime
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trimpoint.cli.terminal import one_line
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import short_id
from trimpoint.journal.repair.repair import Outcome, RepairResult
from trimpoint.journal.repair.verification import Problem, SnapshotState, Verified
from trimpoint.threads.retention import Expired

_OUTCOMES = {
    Outcome.SOUND: ("✓", "green"),
    Outcome.CUT: ("✓", "green"),
    Outcome.SALVAGED: ("✓", "yellow"),
    Outcome.UNREPAIRED: ("✗", "bold red"),
}
# What is never cut, so that the name alone gives way in a narrow terminal.
_LEAST_CELLS = {
    "": 1,
    "thread": 8,
    "size": 8,
    "records": 7,
    "turns": 5,
    "trims": 5,
    "last used": 16,
}
_SNAPSHOTS = {
    SnapshotState.NONE: "none",
    SnapshotState.FITS: "fits",
    SnapshotState.UNUSED: "not used; it will be rewritten",
    SnapshotState.DIFFERS: "does not match the journal",
}


def overview(found: list[Verified], root: Path) -> RenderableType:
    """Returns a table with one row for each journal."""
    table = _table("", "thread", "size", "records", "turns", "trims", "last used", "name")
    for one in found:
        table.add_row(
            _mark(one),
            Text(short_id(one.thread_id)),
            Text(size(one.size_bytes)),
            Text(f"{one.records:,}"),
            Text(f"{len(one.state.turns):,}"),
            Text(str(len(one.state.trim_points))),
            Text(_time(one.last_at_ms)),
            Text(one_line(one.state.name or "", 40)),
        )
    total = size(sum(one.size_bytes for one in found))
    head = Text.assemble(
        (counted(len(found), "journal"), "bold"),
        f", {total}, in {root}",
    )
    return Group(head, table, *_problems(found)) if found else head


def one(found: Verified) -> RenderableType:
    """Returns everything that is known about one journal."""
    state = found.state
    grid = Table.grid(padding=(0, 2))
    rows = {
        "thread": found.thread_id,
        "name": one_line(state.name or ""),
        "folder": one_line(state.cwd),
        "file": str(found.path),
        "size": (
            f"{size(found.size_bytes)}, format "
            f"{found.report.version if found.report is not None else '?'}"
        ),
        "holds": f"{found.records:,} records, {found.events:,} events, sequence {state.sequence:,}",
        "from": f"{_time(found.first_at_ms)} to {_time(found.last_at_ms)}",
        "thread has": (
            f"{len(state.turns):,} turns, {len(state.trim_points)} trim points, "
            f"{len(state.generations)} generations"
        ),
        "snapshot": _snapshot(found),
    }
    for label, value in rows.items():
        if value:
            grid.add_row(Text(label, "dim"), Text(value, overflow="fold"))
    return Group(grid, *_problems([found]))


def verdicts(found: list[Verified]) -> RenderableType:
    """Returns the problems that a verification found, or one line if there are none."""
    bad = [one for one in found if one.problems]
    records = sum(one.records for one in found)
    count = f"{counted(len(found), 'journal')} with {records:,} records"
    lost = sum(one.gaps for one in found)
    gaps = f"; records are missing in {counted(lost, 'place')}, from a salvage" if lost else ""
    if not bad:
        return Text.assemble(("✓ ", "green"), f"{count}: sound{gaps}")
    head = Text.assemble(("✗ ", "bold red"), f"{count}: something is wrong with {len(bad)}{gaps}")
    return Group(head, *_problems(bad))


def repairs(done: list[tuple[str, RepairResult]], *, salvaging: bool) -> RenderableType:
    """Returns what was repaired and what was not."""
    if not done:
        return Text("Nothing to repair.", "dim")
    lines: list[Text] = []
    for thread_id, mended in done:
        mark, style = _OUTCOMES[mended.outcome]
        lines.append(Text.assemble((f"{mark} ", style), thread_id, f": {_what_was_done(mended)}"))
        if mended.kept_at is not None:
            lines.append(Text(f"  kept: {mended.kept_at}", "dim"))
    if not salvaging and any(mended.outcome is Outcome.UNREPAIRED for _, mended in done):
        lines.append(
            Text(
                "--salvage writes a damaged journal anew with all that can still be read; the old "
                "file is kept.",
                "dim",
            )
        )
    return Group(*lines)


def expiries(done: list[Expired], *, is_on: bool) -> RenderableType:
    """Returns what retention did, or would do."""
    if not is_on:
        return Text(
            "Retention is off: set archived_after_days in the [retention] table of the "
            "configuration.",
            "dim",
        )
    if not done:
        return Text("Nothing is old enough.", "dim")
    lines: list[Text] = []
    for one in done:
        mark, style = ("✗", "bold red") if one.outcome == "left" else ("✓", "green")
        detail = f": {one.detail}" if one.detail else ""
        lines.append(
            Text.assemble(
                (f"{mark} ", style),
                one.thread_id,
                f", last used {_time(one.updated_at_ms)}, {one.outcome}{detail}",
            )
        )
    return Group(*lines)


def _what_was_done(mended: RepairResult) -> str:
    if mended.outcome is Outcome.SALVAGED:
        refused = f"; {mended.refused:,} do not follow from what is left" if mended.refused else ""
        return (
            f"salvaged {mended.salvaged:,} records from behind the damage{refused} "
            f"({mended.detail})"
        )
    return (
        f"{'left as it is' if mended.outcome is Outcome.UNREPAIRED else 'put aside'}: "
        f"{mended.detail}"
    )


def size(size_bytes: int) -> str:
    """Returns a size in bytes for people, such as `1.2 MiB`."""
    amount, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for column in columns:
        number = column in {"size", "records", "turns", "trims"}
        table.add_column(
            column,
            justify="right" if number else "left",
            no_wrap=True,
            min_width=_LEAST_CELLS.get(column),
            overflow="ellipsis",
        )
    return table


def _mark(found: Verified) -> Text:
    return Text("✗", "bold red") if found.problems else Text("✓", "green")


def _problems(found: list[Verified]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for one in found:
        for problem in one.problems:
            lines += _problem(one, problem)
    return lines


def _problem(found: Verified, problem: Problem) -> list[RenderableType]:
    return [
        Text(),
        Text.assemble(
            ("✗ ", "bold red"), (found.thread_id, "bold"), f": {problem.detail}", overflow="fold"
        ),
        Text(f"  {problem.advice}", "dim"),
        Text(f"  {found.path}", "dim", overflow="fold"),
    ]


def _snapshot(found: Verified) -> str:
    covered = f", covers {found.snapshot_records:,} records" if found.snapshot_records else ""
    return _SNAPSHOTS[found.snapshot] + covered


def _time(at_ms: int | None) -> str:
    return (
        ""
        if at_ms is None
        else f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d %H:%M}"
    )
