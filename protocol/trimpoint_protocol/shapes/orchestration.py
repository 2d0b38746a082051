"""The shapes of `orchestration/…`, `timeline/read` and `session/export`: commands, state, events
and history of threads.
"""

from typing import Annotated, Any, Literal

import msgspec

from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.readmodel import (
    ContextStatus,
    EventEnvelope,
    OrchestrationThread,
    TimelineEntry,
)
from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "MAX_PAGE",
    "DispatchParams",
    "DispatchResult",
    "ExportParams",
    "ExportResult",
    "LiveItem",
    "PageSize",
    "SnapshotParams",
    "SnapshotResult",
    "SubscribeParams",
    "SubscribeResult",
    "Synchronized",
    "ThreadOverview",
    "TimelinePage",
    "TimelineParams",
    "TimelineTurn",
]

MAX_PAGE = 1000
PageSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)]


class DispatchParams(Params, frozen=True, kw_only=True):
    """One command; its `type` says which."""

    command: AnyClientCommand


class DispatchResult(Result, frozen=True, kw_only=True):
    """The command is durable. `sequence` is that of its last event. Its effects (a new session,
    files) may still be under way.
    """

    sequence: int
    events: list[EventEnvelope]
    operation_id: str | None


class TimelineParams(Params, frozen=True, kw_only=True):
    """Pages go back from the newest entry. `expand` lists trim points whose pruned section is
    wanted, or is "all". With `beforeEntry` instead of a cursor they go back from that entry, with
    `beforeTurn` from the first entry of that turn, both counted from 0; of a hidden turn, from the
    next one that is shown.
    """

    thread_id: str
    expand: list[str] | Literal["all"] | None = None
    cursor: str | None = None
    before_entry: Annotated[int, msgspec.Meta(ge=0)] | None = None
    before_turn: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: PageSize | None = None


class TimelineTurn(Result, frozen=True, kw_only=True):
    """A turn with entries on a page; turns are numbered from 1. `status` is as in a snapshot."""

    id: str
    number: int
    status: str
    error: str | None


class TimelinePage(Result, frozen=True, kw_only=True):
    """Oldest first within the page; `nextCursor` is null when nothing older is left. `firstEntry`
    is the place of the first entry among all `entryCount` of this view, counted from 0.
    """

    entries: list[TimelineEntry]
    next_cursor: str | None
    first_entry: int = 0
    entry_count: int = 0
    turns: list[TimelineTurn] = []


class SubscribeParams(Params, frozen=True, kw_only=True):
    """`afterSequence`: the last event that the client knows; the events after it are replayed where
    that is possible, instead of a snapshot.

    An event number is never used twice: after the journal was restored from a backup, a number of
    the lost history gets a snapshot. `turns` limits the snapshot to that many turns, as in
    `orchestration/snapshot`. `entries` adds so many of the newest entries, with all sections
    expanded, for a client to which another request would cost a round trip.
    """

    thread_id: str
    after_sequence: Annotated[int, msgspec.Meta(ge=0)] | None = None
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None
    entries: PageSize | None = None


class LiveItem(Result, frozen=True, kw_only=True):
    """An item of a running turn that is not completed yet: Codex's own item, with what was streamed
    of it so far, and of a command's output the end. The notifications after the answer go on from
    it, so show it in place of what was shown of the item before.
    """

    turn_id: str
    item: Any


class SubscribeResult(Result, frozen=True, kw_only=True):
    """`mode` is snapshot: `thread` is the state to start from; or replay: the missed events follow
    as notifications.

    Then `orchestration/synchronized`, then live events. `live` are the items of the running turn.
    `timeline` comes with a snapshot where `entries` were asked for: the newest page of
    `timeline/read`, whose `nextCursor` goes on there.
    """

    mode: Literal["snapshot", "replay"]
    thread: OrchestrationThread | None
    sequence: int
    live: list[LiveItem] = []
    timeline: TimelinePage | None = None


class SnapshotParams(Params, frozen=True, kw_only=True):
    """Names one thread; without `threadId`, an overview of all is returned.

    With `turns` the snapshot has only so many of the newest turns, with their checkpoints, and no
    `prunedTurnIds`, so that its size does not grow with the thread. `beforeTurn` asks for the turns
    before that one, counted from 0: the next page. `threadIds` limits the overview to these
    threads; there need not be a thread of each id.
    """

    thread_id: str | None = None
    thread_ids: list[str] | None = None
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None
    before_turn: Annotated[int, msgspec.Meta(ge=0)] | None = None


class ThreadOverview(Result, frozen=True, kw_only=True):
    """A thread as a list shows it; `busy` says what is under way, null when the thread is idle or
    not loaded. `asks` is the method of the request that waits for an answer of a person, null when
    there is none.

    `context` is the thread's meter; of a thread that is not loaded it holds the last reported
    figures, null when there are none. `preview` is the beginning of the first prompt, `lastWords`
    that of the newest message; both can be empty. `turns`,
    `trims` and `compactions` are null for a thread that no daemon has opened since these are
    counted; `trims` took entries out of the context, `compactions` put a summary in their place,
    Codex's own included. `newThreadId` is the thread that continues this one after `/new`.
    """

    id: str
    name: str | None
    cwd: str
    archived: bool
    created_at: Timestamp
    updated_at: Timestamp
    generation: int
    loaded: bool
    busy: str | None
    context: ContextStatus | None = None
    preview: str = ""
    turns: int | None = None
    trims: int | None = None
    compactions: int | None = None
    new_thread_id: str | None = None
    asks: str | None = None
    branch_name: str | None = None
    last_words: str = ""


class SnapshotResult(Result, frozen=True, kw_only=True):
    """`thread` for one thread, `threads` for all. `clients` counts the clients that are subscribed
    to the one thread, including the one that asks, and `live` are the items of its running turn.
    """

    thread: OrchestrationThread | None
    threads: list[ThreadOverview]
    clients: int | None = None
    live: list[LiveItem] = []


class ExportParams(Params, frozen=True, kw_only=True):
    """`pruned`: include entries that are no longer in the agent's context; `includeCompacted` is
    the same for the format `unified`, which is the one for sessions of all agents.
    """

    thread_id: str
    format: Literal["markdown", "json", "unified"] = "markdown"
    pruned: bool = False
    include_compacted: bool = False


class ExportResult(Result, frozen=True, kw_only=True):
    """The document as text. In the format JSON it is an object with `thread` and `entries`, which
    are as in `timeline/read`.
    """

    format: str
    content: str


class Synchronized(Result, frozen=True, kw_only=True):
    """All events up to `sequence` have been sent; later ones are live."""

    thread_id: str
    sequence: int
