"""Parameters and results of the methods about the history of threads (docs/recall.md)."""

from typing import Annotated, Literal

import msgspec

from trimpoint_protocol.shapes.history_kinds import HistoryKind
from trimpoint_protocol.shapes.structs import Params, Result
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "MAX_AROUND",
    "MAX_HITS",
    "Around",
    "HistoryEntry",
    "HistoryExcerpt",
    "HistoryHit",
    "HistoryKind",
    "HistoryReadParams",
    "HistorySearchParams",
    "HistorySearchResult",
]

MAX_HITS = 100
MAX_AROUND = 50
Around = Annotated[int, msgspec.Meta(ge=0, le=MAX_AROUND)]


class HistorySearchParams(Params, frozen=True, kw_only=True):
    """Finds the entries that have all words of `query`; where there are none, those that have all
    but one word. Words in double quotes must follow each other, `conf*` finds words that begin so.
    Case and accents do not count, and parts of identifiers are words.

    `scope`: thread (that of `threadId`; so it is where `threadId` is given) | folder (all threads
    of the folder `cwd`, or of that thread's folder) | all (so it is otherwise). `kinds`: only
    these. `prunedOnly`: only what is not in the agent's context.
    """

    query: str
    thread_id: str | None = None
    scope: Literal["thread", "folder", "all"] | None = None
    cwd: str | None = None
    kinds: list[HistoryKind] = []
    pruned_only: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_HITS)] | None = None
    cursor: str | None = None


class HistoryHit(Result, frozen=True, kw_only=True):
    """An entry that was found. A higher `score` is a better match; scores of two searches do not
    compare.

    `turn` counts the thread's turns from 1, and `shortId` names the entry in the thread: `h3.2` is
    the second entry of the third turn. `snippet` is a piece of its text in one line, and each of
    `marks` where a word of the query stands in it: start and end, in characters (code points).
    """

    thread_id: str
    thread_name: str | None
    turn_id: str
    turn: int
    entry_id: str
    short_id: str
    kind: HistoryKind
    created_at: Timestamp
    snippet: str
    marks: list[list[int]]
    score: float
    in_context: bool


class HistorySearchResult(Result, frozen=True, kw_only=True):
    """Hits, the best first; of equal ones the newest first. `nextCursor` is null when nothing more
    matches. `unread` counts the threads that are not completely indexed yet.
    """

    hits: list[HistoryHit]
    next_cursor: str | None
    unread: int


class HistoryReadParams(Params, frozen=True, kw_only=True):
    """`entryId` is an entry's id or short id; `turnId` names its turn where ids are used several
    times. `before` and `after` are how many entries around it are wanted.
    """

    thread_id: str
    entry_id: str
    turn_id: str | None = None
    before: Around = 0
    after: Around = 0


class HistoryEntry(Result, frozen=True, kw_only=True):
    """An entry with its whole text: of a message, what was said; of a command, the command and its
    output; of a file change, the diff; of a tool call, its arguments and result. `truncated`: the
    text is cut because the answer would be too large.
    """

    turn_id: str
    turn: int
    entry_id: str
    short_id: str
    kind: HistoryKind
    created_at: Timestamp
    text: str
    truncated: bool
    in_context: bool


class HistoryExcerpt(Result, frozen=True, kw_only=True):
    """Consecutive entries, oldest first, and whether there are more before and after."""

    thread_id: str
    entries: list[HistoryEntry]
    has_before: bool
    has_after: bool
