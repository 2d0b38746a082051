"""The shapes of `orchestration/…`, `timeline/read` and `session/export`: commands of threads, their
state and events, and their history as a document.
"""

from typing import Annotated, Literal

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
    "PageSize",
    "SnapshotParams",
    "SnapshotResult",
    "SubscribeParams",
    "SubscribeResult",
    "Synchronized",
    "ThreadOverview",
    "TimelinePage",
    "TimelineParams",
]

MAX_PAGE = 1000
PageSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)]


class DispatchParams(Params, frozen=True, kw_only=True):
    """One command of the tagged union, told apart by its `type`."""

    command: AnyClientCommand


class DispatchResult(Result, frozen=True, kw_only=True):
    """The command is durable; `sequence` is of its last event. Side effects may still be under
    way.
    """

    sequence: int
    events: list[EventEnvelope]
    operation_id: str | None


class SubscribeParams(Params, frozen=True, kw_only=True):
    """`afterSequence`: replay the events after it instead of sending a snapshot, where that is
    possible.

    A number is given to one event only, for ever: where the journal was restored from a backup, a
    number of the lost history gets a snapshot. `turns`: the snapshot has only so many turns, as in
    `orchestration/snapshot`.
    """

    thread_id: str
    after_sequence: Annotated[int, msgspec.Meta(ge=0)] | None = None
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SubscribeResult(Result, frozen=True, kw_only=True):
    """`mode` snapshot: `thread` is the state to start from. `mode` replay: the missed events follow
    as notifications.

    Then `orchestration/synchronized`, then live events.
    """

    mode: Literal["snapshot", "replay"]
    thread: OrchestrationThread | None
    sequence: int


class SnapshotParams(Params, frozen=True, kw_only=True):
    """One thread, or all when `threadId` is left out.

    With `turns` the one has only so many of its newest turns, the checkpoints of those, and no
    `prunedTurnIds`; so the size of the answer does not grow with the thread. `beforeTurn` asks for
    the turns before that one, counted from 0: the next page.
    """

    thread_id: str | None = None
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None
    before_turn: Annotated[int, msgspec.Meta(ge=0)] | None = None


class ThreadOverview(Result, frozen=True, kw_only=True):
    """A line of the thread list; `busy` names what is under way, null when idle or not loaded.

    `context` is the thread's meter; of a thread that is not loaded it holds what was last reported,
    and is null when that is not known. `preview` is the beginning of the first prompt. `turns`,
    `trims` and `compactions` are null when the daemon has not opened the thread since it learned to
    count them; `trims` took entries out of the context, `compactions` put a summary in their place,
    Codex's own included. `newThreadId` is the thread that this one went on as after `/new`.
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


class SnapshotResult(Result, frozen=True, kw_only=True):
    """`thread` for one, `threads` for all. `clients` is how many take part in the one, the asking
    one included.
    """

    thread: OrchestrationThread | None
    threads: list[ThreadOverview]
    clients: int | None = None


class TimelineParams(Params, frozen=True, kw_only=True):
    """Pages go back from the newest; `expand` names trim points whose pruned section is wanted, or
    "all".
    """

    thread_id: str
    expand: list[str] | Literal["all"] | None = None
    cursor: str | None = None
    limit: PageSize | None = None


class TimelinePage(Result, frozen=True, kw_only=True):
    """Oldest first within the page; `nextCursor` is null when nothing older is left."""

    entries: list[TimelineEntry]
    next_cursor: str | None


class ExportParams(Params, frozen=True, kw_only=True):
    """`pruned`: with what is no longer in the agent's context; `includeCompacted` is the same for
    the format unified, that of sessions of all agents.
    """

    thread_id: str
    format: Literal["markdown", "json", "unified"] = "markdown"
    pruned: bool = False
    include_compacted: bool = False


class ExportResult(Result, frozen=True, kw_only=True):
    """The document as text. As JSON it is an object with `thread` and `entries`, those of
    `timeline/read`.
    """

    format: str
    content: str


class Synchronized(Result, frozen=True, kw_only=True):
    """Everything up to `sequence` has been sent; what follows is live."""

    thread_id: str
    sequence: int
