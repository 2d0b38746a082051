"""The types that show a thread to clients: snapshots, timeline entries and event envelopes
(docs/spec/model.md, docs/spec/clients.md).

On the wire all are camelCase objects; times are RFC 3339 in UTC with milliseconds. None of them
contains the id of a provider thread.
"""

from typing import Any, Literal

import msgspec

from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "AutoCompaction",
    "ContextPin",
    "ContextStatus",
    "ContextSummaryBanner",
    "ContextTrimPoint",
    "ContextTrimPointDivider",
    "EventEnvelope",
    "OrchestrationThread",
    "PendingRequest",
    "QueueHold",
    "QueuedPrompt",
    "SessionStatus",
    "ThreadCheckpoint",
    "ThreadHandoff",
    "ThreadOperation",
    "ThreadSession",
    "ThreadTurn",
    "TimelineActivity",
    "TimelineEntry",
    "TimelineMessage",
    "TrimKind",
    "TrimPointStatus",
    "WireStruct",
]

TrimPointStatus = Literal["pending", "applied", "deferred"]
TrimKind = Literal["boundary", "discard"]
SessionStatus = Literal["ready", "pending", "stopped"]


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The convention of the wire: camelCase members, and optional members sent as null, so that
    shapes stay fixed.
    """


class ContextTrimPoint(WireStruct, frozen=True, kw_only=True):
    """A boundary in the ledger: entries before it are no longer in the agent's context. Or a
    discard, which took out single entries (`trimKind`).

    `beforeEntryId` is the last entry before the boundary, null when the ledger was empty. The
    counts are of entries that this trim point newly excluded. `status`: `pending` until the new
    session is ready, then `applied`; `deferred` when the session could not be started yet and the
    next turn will start it. A discard prunes no turn; `discardedEntryIds` names the entries that it
    took out, and `estTokens` is their estimated weight. `maskedEntryIds` names the entries
    whose output or images it replaced by one line; `estTokens` has what that freed too.
    `turnsBefore` is the number of turns before it in the thread.
    """

    id: str
    created_at: Timestamp
    before_entry_id: str | None
    pruned_message_count: int
    pruned_turn_ids: list[str]
    first_kept_turn_id: str | None
    summary: str | None
    summary_unavailable: bool
    trigger: str
    status: TrimPointStatus
    generation: int
    trim_kind: TrimKind
    discarded_entry_ids: list[str]
    est_tokens: int | None
    turns_before: int | None = None
    masked_entry_ids: list[str] = []


class ThreadTurn(WireStruct, frozen=True, kw_only=True):
    """One prompt and all that answers it; `status`: running | completed | interrupted | failed."""

    id: str
    status: str
    started_at: Timestamp
    completed_at: Timestamp | None
    error: str | None
    trimmed: bool


class ThreadCheckpoint(WireStruct, frozen=True, kw_only=True):
    """A snapshot of the worktree. `moment`: before | after (a turn) | safety (before a revert, of
    no turn).

    `commit` is null when there is none; `problem` says why. `notes` say what is not in it.
    """

    turn_id: str | None
    moment: str
    created_at: Timestamp
    repository: str | None
    ref: str | None
    commit: str | None
    notes: list[str]
    problem: str | None


class ThreadOperation(WireStruct, frozen=True, kw_only=True):
    """An operation (clear, compact, start …) that is under way, or the last one that ended.

    `phase`: requested | compacting | checkpointing | stopping | starting | bootstrapping |
    restoring | retrying, then ready | failed.
    """

    id: str
    kind: str
    phase: str
    started_at: Timestamp
    message: str
    trigger: str | None


class PendingRequest(WireStruct, frozen=True, kw_only=True):
    """A request of Codex (approval, user input, tool call) without an answer yet, or, with the
    `method` `subAgent`, a sub-agent that is at work.
    """

    id: str
    method: str
    since: Timestamp


class ThreadSession(WireStruct, frozen=True, kw_only=True):
    """The session of a thread. `status`: `ready` (the context is in place), `pending` (opens with
    the next turn or operation), `stopped`.
    """

    status: SessionStatus
    generation: int
    generation_reason: str


class AutoCompaction(WireStruct, frozen=True, kw_only=True):
    """The state of automatic compaction. `mode`: off | warn | mask | compact, as configured, or as
    chosen for this thread (`isChosen`).

    `state`: `idle`; `due` (the thread is compacted as soon as it is idle, before its next turn);
    `running`; `stopped` (the last attempts failed or freed too little, or the context was full
    again within a turn each time: no more attempts until a person compacts or clears, or the usage
    falls). `message` is a sentence for a person, "" when there is nothing to say. It is made of
    `said` and `hints`, which are commands that help, as they are typed in a chat.
    """

    mode: Literal["off", "warn", "mask", "compact"]
    state: Literal["idle", "due", "running", "stopped"]
    message: str
    said: str = ""
    hints: list[CommandHint] = []
    is_chosen: bool = False


class ContextStatus(WireStruct, frozen=True, kw_only=True):
    """How full the agent's context is, in tokens. `usedTokens` is the figure that Codex calls
    `last.totalTokens`.

    `unknown`: Codex has not reported the size of the context yet, as after a trim, and `usedTokens`
    is the daemon's estimate. `estimated`: `usedTokens` was not measured by a model call; after an
    overflow it is the whole window. `windowTokens` is Codex's `modelContextWindow`, else the
    configured size for the model, else null. Where it is null, so are `percent` (used of window),
    `level` (ok | warning | critical) and `providerCompactsAtTokens` (where Codex would compact
    automatically). `leftPercent` is the figure that Codex's own interface shows: it leaves out the
    first 12,000 tokens, taken for instructions and tools, so that it and `percent` do not add up to
    100.

    `current…` counts the model calls since the last trim, `total…` those of the whole thread;
    cached tokens are part of the input, reasoning tokens part of the output. `compactionCount`
    counts trim points with a summary, `providerCompactionCount` Codex's own compactions.
    `generation` and `auto` are null for a sub-agent's thread, which is not recorded. `note` says
    why `usedTokens` is an estimate or what it leaves out, null where it is measured.

    `cachedPercent` is how much of the last call's input came from the provider's cache, which keeps
    it until `cacheExpiresAt` if no other call is made; null where that is not known.
    """

    thread_id: str
    model: str | None
    used_tokens: int
    window_tokens: int | None
    percent: float | None
    left_percent: int | None
    estimated: bool
    unknown: bool
    level: Literal["ok", "warning", "critical"] | None
    provider_compacts_at_tokens: int | None
    current_input_tokens: int
    current_cached_input_tokens: int
    current_output_tokens: int
    current_reasoning_output_tokens: int
    current_total_tokens: int
    total_input_tokens: int
    total_cached_input_tokens: int
    total_output_tokens: int
    total_reasoning_output_tokens: int
    total_tokens: int
    generation: int | None = None
    compaction_count: int = 0
    provider_compaction_count: int = 0
    auto: AutoCompaction | None = None
    note: str | None = None
    cached_percent: float | None = None
    cache_expires_at: Timestamp | None = None


class ContextPin(WireStruct, frozen=True, kw_only=True):
    """A part of the context that stays whatever is trimmed: a turn, or a note of the person.

    `number` is its place in the list, `turn` the turn's number counted from 1, null for a note.
    `carried`: the pin stands behind the summary, because its turn was trimmed or it is a note;
    otherwise the turn stands at its own place.
    """

    id: str
    number: int
    turn_id: str | None
    turn: int | None
    note: str
    preview: str
    est_tokens: int
    carried: bool
    created_at: Timestamp


class QueuedPrompt(WireStruct, frozen=True, kw_only=True):
    """A prompt that waits until the thread can take it. `input` is that of Codex's `turn/start`."""

    id: str
    client_user_message_id: str
    input: list[dict[str, Any]]
    queued_at: Timestamp


class QueueHold(WireStruct, frozen=True, kw_only=True):
    """Why no queued prompt is sent. `reason`: `interrupted` (a person interrupted the turn before),
    `failed` (that turn failed) or `refused` (the first prompt was not accepted); `message` is the
    error, empty if there is none.

    The next turn that begins ends it, as does the command `thread.queue.start`.
    """

    reason: str
    message: str


class ThreadHandoff(WireStruct, frozen=True, kw_only=True):
    """A thread that `/handoff` began with a brief of this one."""

    thread_id: str
    goal: str | None
    created_at: Timestamp


class OrchestrationThread(WireStruct, frozen=True, kw_only=True):
    """The snapshot of one thread. `sequence` is the last event that it includes. `newThreadId` is
    the thread that continues it after `/new`, `handoffs` are those that `/handoff` began, and
    `parentThreadId` is the thread that it was itself begun from. `firstTurn` is the number of turns
    before the first one in `turns`: more than 0 where only some were requested.
    """

    id: str
    name: str | None
    cwd: str
    project_id: str | None
    worktree_id: str | None
    branch_name: str | None
    archived: bool
    created_at: Timestamp
    sequence: int
    thread_sequence: int
    context_trim_points: list[ContextTrimPoint]
    turns: list[ThreadTurn]
    turn_count: int
    active_turn_count: int
    message_count: int
    active_message_count: int
    session: ThreadSession
    operation: ThreadOperation | None
    pending_requests: list[PendingRequest]
    checkpoints: list[ThreadCheckpoint]
    compaction_count: int
    context: ContextStatus
    read_only: str | None
    pins: list[ContextPin] = []
    new_thread_id: str | None = None
    first_turn: int = 0
    queue: list[QueuedPrompt] = []
    queue_hold: QueueHold | None = None
    handoffs: list[ThreadHandoff] = []
    parent_thread_id: str | None = None


class TimelineMessage(WireStruct, frozen=True, kw_only=True, tag_field="kind", tag="message"):
    """A prompt of the user or an answer of the agent. `detail` is Codex's own item where it holds
    more than text, such as an image. `trimmed`: it is no longer in the agent's context;
    `trimPointId` names the trim point that took it out.
    """

    id: str
    turn_id: str
    role: str
    text: str
    created_at: Timestamp
    trimmed: bool
    trim_point_id: str | None
    detail: Any = None


class TimelineActivity(WireStruct, frozen=True, kw_only=True, tag_field="kind", tag="activity"):
    """A command, file change, tool call, reasoning or provider compaction; `detail` is Codex's own
    item. `masked` says that the agent is sent one line in the place of its output.
    """

    id: str
    turn_id: str
    activity: str
    title: str
    created_at: Timestamp
    trimmed: bool
    trim_point_id: str | None
    detail: Any
    masked: bool = False


class ContextSummaryBanner(
    WireStruct, frozen=True, kw_only=True, tag_field="kind", tag="contextSummaryBanner"
):
    """The summary of the pruned section above it."""

    trim_point_id: str
    header: str
    summary: str


class ContextTrimPointDivider(
    WireStruct, frozen=True, kw_only=True, tag_field="kind", tag="contextTrimPointDivider"
):
    """A trim point. `hiddenMessageCount` counts the messages of the section above it, whether that
    is expanded or not.

    `trimKind` is `boundary` or `discard`. At a discard nothing is hidden, and the count is of the
    entries that were taken out, which stay at their places and are flagged. `pinnedCount` counts
    the turns that the trim took out but that are pinned, and so still in the context. `maskedCount`
    counts the entries that a discard masked.
    """

    trim_point_id: str
    label: str
    hidden_message_count: int
    expanded: bool
    trim_kind: TrimKind
    pinned_count: int = 0
    masked_count: int = 0


TimelineEntry = TimelineMessage | TimelineActivity | ContextSummaryBanner | ContextTrimPointDivider


class EventEnvelope(WireStruct, frozen=True, kw_only=True):
    """One journaled event.

    `sequence` orders the events of all threads, `threadSequence` those of one thread without gaps.
    `askedBy` names the person of a fleet who gave the command from another host.
    """

    sequence: int
    thread_sequence: int
    event_id: str
    occurred_at: Timestamp
    command_id: str | None
    operation_id: str | None
    type: str
    payload: dict[str, Any]
    asked_by: str | None = None

    @property
    def thread_id(self) -> str:
        """Returns the thread's id, which is a part of the event's id."""
        return self.event_id.rpartition("/")[0]
