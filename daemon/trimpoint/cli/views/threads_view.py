"""Formats threads as a table that fits the terminal: short id, title, time, turns, context, trims,
state.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trimpoint.cli.connection.known_threads import KnownThread, place_of
from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.age import short_age
from trimpoint.cli.views.context_view import SMALL_BAR_CELLS, small_context
from trimpoint.core.model.decision import SUB_AGENT

_NARROW_COLUMNS = 76
LEGEND = "✂ trimmed: cleared or compressed   ⤵ compacted: a summary took its place"


def by_place(threads: Iterable[KnownThread], first: str) -> dict[str, list[KnownThread]]:
    """Groups threads by the work tree or folder that they belong to: the place `first`, then the
    others, the most recently used one first.
    """
    grouped: dict[str, list[KnownThread]] = {}
    for thread in threads:
        grouped.setdefault(place_of(thread.cwd), []).append(thread)
    return dict(sorted(grouped.items(), key=lambda item: item[0] != first))


class _Columns(NamedTuple):
    """The columns that fit the terminal and have content. Tables that are shown together have the
    same ones.
    """

    counts: bool
    trims: bool
    state: bool


def thread_groups(
    grouped: dict[str, list[KnownThread]], width: int, *, headings: bool
) -> RenderableType:
    """Returns a table for each place, with the place as a heading if `headings`.

    On a narrow terminal the tables have no counts, to leave room for the titles.
    """
    threads = [thread for group in grouped.values() for thread in group]
    wide = width >= _NARROW_COLUMNS
    trims = wide and any(map(_trims, threads))
    columns = _Columns(counts=wide, trims=trims, state=any(map(_state, threads)))
    blocks: list[RenderableType] = []
    for place, group in grouped.items():
        if headings:
            blocks += [Text()] if blocks else []
            blocks.append(Text(one_line(place), "bold", overflow="fold"))
        blocks.append(_table(group, columns))
    if trims:
        blocks.append(Text(LEGEND, "dim"))
    return Group(*blocks)


def _table(threads: list[KnownThread], columns: _Columns) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), expand=True)
    table.add_column("id", no_wrap=True)
    table.add_column(
        "name or first words", no_wrap=True, overflow="ellipsis", ratio=1, min_width=12
    )
    table.add_column("used", justify="right", no_wrap=True, min_width=4)
    if columns.counts:
        table.add_column("turns", justify="right", no_wrap=True)
    bar = SMALL_BAR_CELLS + 5 if columns.counts else 7
    table.add_column("context", no_wrap=True, min_width=bar)
    if columns.trims:
        table.add_column("", no_wrap=True, min_width=5)
    if columns.state:
        table.add_column(
            "", no_wrap=True, overflow="ellipsis", max_width=20 if columns.counts else 12
        )
    for thread in threads:
        table.add_row(*_cells(thread, columns), style="dim" if thread.archived else None)
    return table


def _cells(thread: KnownThread, columns: _Columns) -> Iterator[Text]:
    own = thread.overview
    yield Text(thread.short_id, "" if thread.archived else "cyan")
    yield Text(one_line(thread.title, 300)) if thread.title else Text("(nothing said yet)", "dim")
    yield Text(short_age(thread.updated_at))
    if columns.counts:
        yield Text(str(own.turns) if own is not None and own.turns is not None else "")
    yield small_context(own.context, bar=columns.counts) if own is not None else Text()
    if columns.trims:
        yield Text(_trims(thread), "dim")
    if columns.state:
        yield _state(thread)


def _trims(thread: KnownThread) -> str:
    own = thread.overview
    if own is None:
        return ""
    counts = (("✂", own.trims), ("⤵", own.compactions))
    return " ".join(f"{sign}{count}" for sign, count in counts if count)


def _state(thread: KnownThread) -> Text:
    """Returns the state of a thread; empty if it waits for a prompt."""
    own = thread.overview
    if own is None:
        return Text("archived, Codex's" if thread.archived else "Codex's own", "dim")
    if own.busy:
        asks = own.asks is not None
        return Text(busy_words(own.busy, asks=asks), "bold yellow" if asks else "yellow")
    return Text("archived") if thread.archived else Text()


def busy_words(busy: str, *, asks: bool) -> str:
    """Returns why a thread is busy, in words. A thread that asks has a turn that runs, too."""
    kind, _, detail = busy.partition(": ")
    if asks:
        return "waits for an answer"
    if kind == "request":
        return "sub-agent at work" if detail == SUB_AGENT else "working"
    if kind == "turn" and detail in {"running", ""}:
        return "working"
    return one_line(detail or kind, 60)
