"""The shapes of `stats/read`: what the model calls of all threads took."""

from typing import Annotated, Literal

import msgspec

from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

__all__ = ["Grouping", "RowCount", "Stats", "StatsParams", "StatsRow"]

Grouping = Literal["thread", "folder", "day", "model"]
RowCount = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class StatsParams(Params, frozen=True, kw_only=True):
    """Counts what was spent after `sinceMs`, in milliseconds since the epoch, to a quarter of an
    hour; null: ever.
    `limit` is the number of threads that are wanted as rows; other rows are not limited.
    """

    by: Grouping = "thread"
    since_ms: int | None = None
    limit: RowCount = 100


class StatsRow(Result, frozen=True, kw_only=True):
    """One sum. `key` is the id of the thread, the folder, the day as the person's clock has it
    (2026-01-31), or the model, empty where that is not known; `name` is the thread's.

    `trims` counts the trims that are in effect by their triggers. `sparedTokens` are those that
    trims kept from being sent, an estimate; `readAnewTokens` those that the first calls after trims
    did not find in the provider's cache.
    """

    key: str
    name: str | None = None
    threads: int
    calls: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    trims: dict[str, int]
    spared_tokens: int
    read_anew_tokens: int


class Stats(Result, frozen=True, kw_only=True):
    """The sums: days in their order, else those with the most tokens first.

    While `countedThreads` is less than `knownThreads`, journals of an older version are being read,
    and the sums are of the threads that are counted. `unreadableThreads` are in no other figure.
    `moreRows` have fewer tokens than those that were wanted, and are in the total.
    """

    by: Grouping
    since_ms: int | None
    rows: list[StatsRow]
    total: StatsRow
    counted_threads: int
    known_threads: int
    unreadable_threads: int = 0
    more_rows: int = 0
