"""Sums what the model calls of many threads took, by thread, folder, day or model.

The sums are made of what the catalogue keeps of each thread, so no journal is read for them.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import NamedTuple, assert_never

import msgspec
from trimpoint_protocol.shapes.stats import Grouping, Stats, StatsRow

from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.decision import counted
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import short_count
from trimpoint.core.model.usage import QUARTER_MS, Spent, quarter_of
from trimpoint.core.views.stats_text import trims_text

LISTED = 20
_decoder = msgspec.msgpack.Decoder(list[Spent])


class Spending(NamedTuple):
    """What a thread has spent: `spent` as `encoded_spent` returned it, None if it is not counted
    yet.
    """

    thread_id: str
    name: str
    cwd: str
    spent: bytes | None


class Asked(NamedTuple):
    """How to sum. `day_of` returns the day of a time in milliseconds since the epoch, as the person
    counts days; quarters of an hour that end after `since_ms` count. `limit` threads become rows.
    """

    by: Grouping
    since_ms: int | None
    day_of: Callable[[int], str]
    limit: int


def encoded_spent(state: ThreadState) -> bytes:
    """Returns what a thread's calls took, with its trims that are in effect, for the
    catalogue.
    """
    spent = state.usage.spent
    trims: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for trim in state.boundaries:
        if trim.created_at_ms < state.created_at_ms:
            continue  # a fork has inherited it
        quarter = quarter_of(trim.created_at_ms)
        # Made with the model that had spoken last.
        place = max(0, bisect_right(spent, quarter, key=attrgetter("quarter")) - 1)
        trims[quarter, spent[place].model if spent else ""][trim.trigger] += 1
    rows = [
        msgspec.structs.replace(row, trims=trims.pop((row.quarter, row.model)))
        if (row.quarter, row.model) in trims
        else row
        for row in spent
    ]
    rows += [Spent(*key, trims=made) for key, made in trims.items()]
    return msgspec.msgpack.encode(rows)


def totals(threads: Iterable[Spending], asked: Asked, unreadable: int = 0) -> Stats:
    """Returns the sums, those with the most tokens first, days in their order. `unreadable` threads
    are not among `threads`.
    """
    sums: dict[str, _Sum] = {}
    total, known, done = _Sum(), 0, 0
    days: dict[int, str] = {}
    # A row counts from the first quarter that is not over by then.
    first = 0 if asked.since_ms is None else quarter_of(asked.since_ms)
    for thread in threads:
        known += 1
        if thread.spent is None:
            continue
        done += 1
        touched: set[str] = set()
        for row in _decoder.decode(thread.spent):
            if row.quarter < first:
                continue
            key = _key(thread, row, asked, days)
            if (found := sums.get(key)) is None:
                found = sums[key] = _Sum(thread.name if asked.by == "thread" else None)
            found.add(row)
            touched.add(key)
        for key in touched:
            sums[key].threads += 1
        total.threads += bool(touched)
    for one in sums.values():
        total.add(one.spent)
    keys = sorted(sums)
    if asked.by != "day":
        keys.sort(key=lambda key: -sums[key].spent.input - sums[key].spent.output)
    wanted = keys[: asked.limit] if asked.by == "thread" else keys
    rows = [sums[key].row(key) for key in wanted]
    return Stats(
        by=asked.by,
        since_ms=asked.since_ms,
        rows=rows,
        total=total.row(""),
        counted_threads=done,
        known_threads=known,
        unreadable_threads=unreadable,
        more_rows=len(keys) - len(rows),
    )


def _key(thread: Spending, row: Spent, asked: Asked, days: dict[int, str]) -> str:
    match asked.by:
        case "thread":
            return thread.thread_id
        case "folder":
            return thread.cwd
        case "model":
            return row.model
        case "day":
            if row.quarter not in days:
                days[row.quarter] = asked.day_of(row.quarter * QUARTER_MS)
            return days[row.quarter]
        case _:
            assert_never(asked.by)


class _Sum:
    """A sum that grows."""

    def __init__(self, name: str | None = None) -> None:
        self.threads = 0
        self.spent = Spent(0, "", trims={})
        self._name = name

    def add(self, row: Spent) -> None:
        """Adds what was spent."""
        mine = self.spent
        mine.calls += row.calls
        mine.input += row.input
        mine.cached_input += row.cached_input
        mine.output += row.output
        mine.spared += row.spared
        mine.read_anew += row.read_anew
        for kind, count in row.trims.items():
            mine.trims[kind] = mine.trims.get(kind, 0) + count

    def row(self, key: str) -> StatsRow:
        """Returns the sum for clients."""
        mine = self.spent
        return StatsRow(
            key=key,
            name=self._name,
            threads=self.threads,
            calls=mine.calls,
            input_tokens=mine.input,
            cached_input_tokens=mine.cached_input,
            output_tokens=mine.output,
            trims=mine.trims,
            spared_tokens=mine.spared,
            read_anew_tokens=mine.read_anew,
        )


def totals_text(stats: Stats) -> str:
    """Returns the sums as lines for a chat or a terminal: the total, and the rows that fit."""
    is_by_day = stats.by == "day"
    shown = stats.rows[-LISTED:] if is_by_day else stats.rows[:LISTED]
    lines = [
        f"{counted(stats.total.threads, 'thread')}: {_row_text(stats.total)}",
        *(f"{_label(row, stats.by)}: {_row_text(row)}" for row in shown),
    ]
    left = len(stats.rows) - len(shown) + stats.more_rows
    if left:
        lines.append(f"{left:,} {'earlier' if is_by_day else 'smaller'} ones are not listed.")
    if stats.counted_threads < stats.known_threads:
        lines.append(
            f"Threads are still being counted: {stats.counted_threads:,} of "
            f"{stats.known_threads:,}. Ask again."
        )
    if stats.unreadable_threads:
        lines.append(f"{counted(stats.unreadable_threads, 'thread')} cannot be read.")
    return "\n".join(lines)


def _label(row: StatsRow, by: Grouping) -> str:
    if by == "thread" and row.name:
        return f"{row.key[-8:]} {row.name}"
    return row.key[-8:] if by == "thread" else row.key or "unknown"


def _row_text(row: StatsRow) -> str:
    parts = [counted(row.calls, "call")]
    if row.calls:
        cached = percent_text(row.cached_input_tokens * 100 / max(1, row.input_tokens))
        parts.append(f"{short_count(row.input_tokens)} tokens in ({cached} cached)")
        parts.append(f"{short_count(row.output_tokens)} out")
    if row.trims:
        parts.append(trims_text(Counter(row.trims)))
    if row.spared_tokens:
        parts.append(f"trims spared about {short_count(row.spared_tokens)}")
        parts.append(f"{short_count(row.read_anew_tokens)} read anew after them")
    return ", ".join(parts)
