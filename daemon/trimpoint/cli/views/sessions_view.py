"""Formats sessions of all agents as a table: agent, id, title, folder, time, turns, tokens,
marks.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.age import short_age

NARROW_COLUMNS = 90
ID_CHARS = 8
LINEAGES = {"forked": "⑂", "cleared": "↻", "spawned": "↳"}
LEGEND = "✂ cleared   ⤵ compacted   ↶ taken back   ⑂ forked   ↻ begun by a clear   ↳ a sub-agent's"


def sessions_table(sessions: list[SessionOverview], width: int) -> RenderableType:
    """Returns the table. On a narrow terminal it has neither folders nor tokens."""
    wide = width >= NARROW_COLUMNS
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), expand=True)
    table.add_column("agent", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("title or first words", no_wrap=True, overflow="ellipsis", ratio=2)
    if wide:
        table.add_column("folder", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("changed", justify="right", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    if wide:
        table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for session in sessions:
        table.add_row(*_cells(session, wide=wide))
    return Group(table, Text(LEGEND, "dim")) if any(map(_marks, sessions)) else table


def _cells(session: SessionOverview, *, wide: bool) -> Iterator[Text]:
    yield Text(session.agent)
    yield Text(session.id[-ID_CHARS:], "cyan")
    yield _words(session)
    if wide:
        yield Text(one_line(session.cwd or "", 300), "dim")
    yield Text(short_age(session.updated_at) if session.updated_at else "")
    yield Text(_number(session.turns))
    if wide:
        yield Text(_number(session.tokens))
    yield Text(_marks(session), "dim")


def _words(session: SessionOverview) -> Text:
    if session.problem is not None:
        return Text(one_line(session.problem, 300), "yellow")
    words = session.title or session.first_prompt
    return Text(one_line(words, 300)) if words else Text("(nothing said yet)", "dim")


def _number(value: int | None) -> str:
    if value is None:
        return "?"
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= 10 * size:
            return f"{value // size}{unit}"
    return str(value)


def _marks(session: SessionOverview) -> str:
    counts = (("✂", session.clears), ("⤵", session.compactions), ("↶", session.rewinds))
    marks = [f"{sign}{count}" for sign, count in counts if count]
    if session.lineage_kind is not None:
        marks.append(LINEAGES[session.lineage_kind])
    return " ".join(marks)
