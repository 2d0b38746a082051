"""The one registry of trimpoint's own methods and notifications: name, direction, shapes, a line of
description.

Dispatch, the JSON Schema and the reference page are all made from `METHODS` and `NOTIFICATIONS`.
App-server methods are Codex's own and are not listed here.
"""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from trimpoint_protocol import agent_sessions, checkpoints, history
from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.errors import Blocker
from trimpoint_protocol.readmodel import (
    ContextStatus,
    EventEnvelope,
    OrchestrationThread,
    TimelineEntry,
    WireStruct,
)
from trimpoint_protocol.shapes import Params as Params
from trimpoint_protocol.shapes import Result as Result
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "MAX_PAGE",
    "METHODS",
    "NOTIFICATIONS",
    "USE_PROFILE",
    "AnswerIgnored",
    "CancelParams",
    "CancelResult",
    "ClassTotal",
    "CodexState",
    "CodexStatus",
    "CommandInfo",
    "CommandList",
    "CommandOutcome",
    "CommandProgress",
    "CommandStatus",
    "CompleteParams",
    "CompressionClass",
    "CompressionPreview",
    "ContextAdvice",
    "ContextInspection",
    "ContextMessage",
    "ContextMessageList",
    "DispatchParams",
    "DispatchResult",
    "Empty",
    "ExecuteParams",
    "ExportParams",
    "ExportResult",
    "InspectedItem",
    "ItemClassName",
    "LoginUrl",
    "LoginUrlParams",
    "Method",
    "MetricFamily",
    "MetricKind",
    "MetricSample",
    "MetricsParams",
    "MetricsResult",
    "NoParams",
    "NotificationKind",
    "PageSize",
    "ProfileChosen",
    "ProfileParams",
    "ProfileStatus",
    "SidecarStatus",
    "SnapshotParams",
    "SnapshotResult",
    "SubscribeParams",
    "SubscribeResult",
    "Synchronized",
    "ThreadOverview",
    "ThreadParams",
    "TimelinePage",
    "TimelineParams",
    "TokenChange",
    "TrimAdvice",
]

MAX_PAGE = 1000
USE_PROFILE = "sidecar/useProfile"
MetricKind = Literal["counter", "gauge", "histogram"]
PageSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)]


class NoParams(Params, frozen=True, kw_only=True):
    """Takes nothing."""


class ThreadParams(Params, frozen=True, kw_only=True):
    """Names a thread."""

    thread_id: str


class CommandInfo(Result, frozen=True, kw_only=True):
    """A slash command, for menus and help."""

    name: str
    usage: str
    summary: str
    details: str


class CommandList(Result, frozen=True, kw_only=True):
    """Slash commands, in menu order."""

    commands: list[CommandInfo]


class CompleteParams(Params, frozen=True, kw_only=True):
    """`text` is what has been typed so far."""

    text: str


class ExecuteParams(Params, frozen=True, kw_only=True):
    """`text` is the whole input; `threadId` may be left out for commands about no thread (`/help`).

    `dryRun` is `--dry-run` for the commands that know it.
    """

    text: str
    thread_id: str | None = None
    command_id: str | None = None
    dry_run: bool = False


class CancelParams(Params, frozen=True, kw_only=True):
    """`operationId` is that of the command's progress."""

    operation_id: str


class CancelResult(Result, frozen=True, kw_only=True):
    """`cancelled` false: it is no compaction that is under way, or its summary has come already."""

    cancelled: bool


class ContextMessage(Result, frozen=True, kw_only=True):
    """One thing of the agent's context that can only leave it whole: a message, or a tool call with
    its result.

    `shortId` is for people and agents and means the same for as long as the context does. `role`:
    user | assistant | tool. `kind`: message | fileRead | command | check | fileChange | plan |
    title | toolCall | contextTool | history | summary. `protected` says why it stays: newest |
    codeChange | plan | finalAnswer | summary | pinned | notRecorded; null when it may go.
    """

    short_id: str
    turn_id: str
    entry_ids: list[str]
    role: str
    kind: str
    preview: str
    est_tokens: int
    protected: str | None


class ContextMessageList(Result, frozen=True, kw_only=True):
    """In the order in which the model sees it. No discard leaves less than `floorTokens`;
    `/compress` stops at `targetTokens`.

    `refusal` says why nothing at all can be discarded at present, if that is so.
    """

    messages: list[ContextMessage]
    total_est_tokens: int
    target_tokens: int
    floor_tokens: int
    refusal: str | None


ItemClassName = Literal[
    "instructions",
    "tools",
    "environment",
    "projectDocs",
    "skills",
    "summary",
    "pinned",
    "user",
    "assistant",
    "toolCall",
    "toolResult",
    "reasoning",
    "image",
    "other",
]


class InspectedItem(Result, frozen=True, kw_only=True):
    """One item of what the model is sent. `share` is of the window, null while that is unknown.

    `turnId`, `entryId` and `shortId` are null where the ledger knows nothing of the item: what
    Codex wrote by itself. `protected` is as in `context/messages/list`.
    """

    index: int
    item_class: ItemClassName = msgspec.field(name="class")
    turn_id: str | None
    entry_id: str | None
    short_id: str | None
    role: str
    preview: str
    est_tokens: int
    share: float | None
    protected: str | None
    pinned: bool


class ClassTotal(Result, frozen=True, kw_only=True):
    """The items of one class. A message of Codex's own can hold parts of several classes: it is
    counted with its first part, its tokens with each.
    """

    item_class: ItemClassName = msgspec.field(name="class")
    count: int
    est_tokens: int
    share: float | None


class ContextInspection(Result, frozen=True, kw_only=True):
    """What the model is sent before the next prompt, in order.

    `estimatedTokens` is the sum of the items, `usedTokens` what the meter says, measured where
    `estimated` is false, and `overheadTokens` the difference: tools, whose definitions Codex does
    not report, and the error of the estimates. `note` says what is not known of the items, or why
    `usedTokens` is an estimate. `predicted`: Codex has not written its own items yet, and these are
    those of the session before.
    """

    thread_id: str
    items: list[InspectedItem]
    totals: list[ClassTotal]
    estimated_tokens: int
    used_tokens: int
    estimated: bool
    overhead_tokens: int
    window_tokens: int | None
    percent: float | None
    level: Literal["ok", "warning", "critical"] | None
    predicted: bool
    note: str | None


class TrimAdvice(Result, frozen=True, kw_only=True):
    """A trim that would help. `afterTokens` is null where only the summary will tell; `percent` is
    of the window then. `text` says it in a sentence.
    """

    command: str
    frees_tokens: int | None
    after_tokens: int | None
    percent: float | None
    text: str


class ContextAdvice(Result, frozen=True, kw_only=True):
    """`advice` is empty while the level is ok or unknown; the first helps most."""

    thread_id: str
    level: Literal["ok", "warning", "critical"] | None
    advice: list[TrimAdvice]


class CompressionClass(Result, frozen=True, kw_only=True):
    """The discarded segments of one kind."""

    kind: str
    count: int
    est_tokens: int


class CompressionPreview(Result, frozen=True, kw_only=True):
    """What `/compress` takes, by kind in the order of its priority; `leftEstTokens` is what
    stays.
    """

    classes: list[CompressionClass]
    entry_ids: list[str]
    total_est_tokens: int
    left_est_tokens: int
    target_tokens: int
    floor_tokens: int


class TokenChange(Result, frozen=True, kw_only=True):
    """What the context held before a trim and holds after it, in the tokens of `context/status`.

    `after` is null where it cannot be known yet. `note` says why a figure is an estimate or leaves
    something out, if it is or does.
    """

    before: int
    after: int | None
    before_estimated: bool
    after_estimated: bool
    note: str | None
    window_tokens: int | None = None
    before_percent: float | None = None
    after_percent: float | None = None


CommandStatus = Literal["completed", "skipped", "failed", "cancelled"]


class CommandOutcome(Result, frozen=True, kw_only=True):
    """How a slash command ended. `handled` false: the input is no command of ours, and nothing was
    done.

    `status`: completed | skipped (nothing changed, and need not) | failed | cancelled (by a person,
    and nothing changed). `message` is a sentence for a person. With a `reason` out of the error
    reasons when it did not complete; `blocker` when the thread was busy. `tokens` tells of a trim,
    `files` of a revert; `undo` is what to type to take the command back. `newThreadId` is the
    thread of `/new`, and where the thread is archived the one that it went on as. With `dryRun`
    nothing was changed, and the answer says what would be. `operationId` is that of its progress,
    where it came to an operation.
    """

    handled: bool
    command: str | None = None
    status: CommandStatus | None = None
    reason: str | None = None
    message: str | None = None
    sequence: int | None = None
    trim_point_id: str | None = None
    summary: str | None = None
    summary_unavailable: bool | None = None
    new_thread_id: str | None = None
    blocker: Blocker | None = None
    compression: CompressionPreview | None = None
    files: checkpoints.RevertedFiles | None = None
    tokens: TokenChange | None = None
    undo: str | None = None
    dry_run: bool | None = None
    operation_id: str | None = None


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


CodexState = Literal["connected", "idle", "unavailable"]


class CodexStatus(Result, frozen=True, kw_only=True):
    """The child. `state`: connected | idle (not needed yet) | unavailable, with `problem` saying
    why.

    `overrides` are the `-c` values it is run with, in order.
    """

    path: str
    state: CodexState
    version: str | None
    problem: str | None
    epoch: int
    overrides: list[str]


class ProfileParams(Params, frozen=True, kw_only=True):
    """What the client's Codex is launched with beyond what the daemon is configured with.

    `overrides` are Codex's `key=value`, as for `-c`; they come after the daemon's own. `codex` is
    the path of a binary, `codexHome` a `CODEX_HOME`; both absolute.
    """

    overrides: list[str] = []
    codex: str | None = None
    codex_home: str | None = None


class ProfileChosen(Result, frozen=True, kw_only=True):
    """`profile` is the key of the launch profile; empty for the daemon's own. The rest says which
    daemon it is.
    """

    profile: str
    pid: int
    state_dir: str


class ProfileStatus(Result, frozen=True, kw_only=True):
    """A launch profile that runs beside the daemon's own. `overrides` are those that its clients
    brought, `clients` how many are connected, `threads` how many are bound to it.
    """

    profile: str
    overrides: list[str]
    codex_home: str
    clients: int
    threads: int
    codex: CodexStatus


class SidecarStatus(Result, frozen=True, kw_only=True):
    """The daemon itself. `http` is its address over TCP, null where it does not listen there."""

    version: str
    pid: int
    uptime_s: float
    state_dir: str
    clients: int
    threads: int
    sequence: int
    codex: CodexStatus
    http: str | None = None
    profiles: list[ProfileStatus] = []


class LoginUrlParams(Params, frozen=True, kw_only=True):
    """`listen`: where HTTP is not served over TCP yet, serve it at this machine's own address.
    `ownHome`: the WebSockets of this login use the home of Codex that this client uses, not the
    daemon's own; only a daemon in the background does so.
    """

    listen: bool = False
    own_home: bool = False


class LoginUrl(Result, frozen=True, kw_only=True):
    """`url` logs in the first browser that opens it, within `expiresInS` seconds. `codexHome` is
    where the Codex of its page keeps login and threads.
    """

    url: str
    expires_in_s: float
    codex_home: str | None = None


class MetricsParams(Params, frozen=True, kw_only=True):
    """`format` prometheus asks for the text that Prometheus reads, too."""

    format: Literal["json", "prometheus"] = "json"


class MetricSample(Result, frozen=True, kw_only=True):
    """One number. Of a histogram: `name` ends in `_bucket` (label `le`: at most so many seconds),
    `_count` or `_sum`.
    """

    name: str
    labels: dict[str, str]
    value: float


class MetricFamily(Result, frozen=True, kw_only=True):
    """Numbers of one meaning. `kind`: a counter only grows, from 0 at the daemon's start."""

    name: str
    kind: MetricKind
    help: str
    samples: list[MetricSample]


class MetricsResult(Result, frozen=True, kw_only=True):
    """`text` is null unless it was asked for."""

    families: list[MetricFamily]
    text: str | None


class Empty(Result, frozen=True, kw_only=True):
    """Done."""


class CommandProgress(Result, frozen=True, kw_only=True):
    """What a slash command is doing; `phase`: compacting | stopping | starting | bootstrapping |
    retrying | ready | failed | cancelled.

    `trigger` "auto": an automatic compaction, of which all who take part in the thread
    or follow it hear. `command` is "overflow" where nobody gave one: a turn that did not fit is
    being tried again, and every client of the thread hears it.
    """

    thread_id: str
    command: str
    phase: str
    message: str
    operation_id: str
    trigger: str = "user"


class AnswerIgnored(Result, frozen=True, kw_only=True):
    """An answer to a question of the agent came to nothing: it was answered, resolved or expired
    before, or never asked.
    """

    reason: str
    request_id: str | int | None


class Synchronized(Result, frozen=True, kw_only=True):
    """Everything up to `sequence` has been sent; what follows is live."""

    thread_id: str
    sequence: int


class Method(NamedTuple):
    """One row: what a client sends and what it gets."""

    name: str
    params: type[Params]
    result: type[Result] | type[WireStruct]
    description: str


class NotificationKind(NamedTuple):
    """One row: what a client is sent without asking."""

    name: str
    params: type[Any]
    description: str


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("commands/list", NoParams, CommandList, "The slash commands there are."),
        Method(
            "commands/complete",
            CompleteParams,
            CommandList,
            "The commands that a partly typed input can become.",
        ),
        Method(
            "commands/execute",
            ExecuteParams,
            CommandOutcome,
            "Carry out a slash command and answer when it has ended.",
        ),
        Method(
            "commands/cancel",
            CancelParams,
            CancelResult,
            "Give up a compaction; its command ends as cancelled, and nothing has changed.",
        ),
        Method(
            "orchestration/dispatch",
            DispatchParams,
            DispatchResult,
            "Give a command; answered once it is durable.",
        ),
        Method(
            "orchestration/subscribeThread",
            SubscribeParams,
            SubscribeResult,
            "Follow a thread's events.",
        ),
        Method("orchestration/unsubscribeThread", ThreadParams, Empty, "Follow them no longer."),
        Method(
            "orchestration/snapshot",
            SnapshotParams,
            SnapshotResult,
            "The state of one thread, or an overview of all.",
        ),
        Method(
            "context/messages/list",
            ThreadParams,
            ContextMessageList,
            "What the agent's context holds, and what of it may go.",
        ),
        Method(
            "context/inspect",
            ThreadParams,
            ContextInspection,
            "What the model is sent next, item by item.",
        ),
        Method(
            "context/advice",
            ThreadParams,
            ContextAdvice,
            "Which trims would help most when the context is filling up.",
        ),
        Method(
            "timeline/read",
            TimelineParams,
            TimelinePage,
            "A thread's history as a person reads it.",
        ),
        Method(
            "history/search",
            history.HistorySearchParams,
            history.HistorySearchResult,
            "Find what was said and done, also what the agent's context no longer holds.",
        ),
        Method(
            "history/read",
            history.HistoryReadParams,
            history.HistoryExcerpt,
            "An entry of a thread's history with its whole text, and those around it.",
        ),
        Method(
            "session/export",
            ExportParams,
            ExportResult,
            "A whole thread as a document, for a person to read or keep.",
        ),
        Method("context/status", ThreadParams, ContextStatus, "How full the agent's context is."),
        Method(
            "checkpoint/list",
            checkpoints.CheckpointListParams,
            checkpoints.CheckpointList,
            "The files after each turn that can be had back, and what each turn changed.",
        ),
        Method(
            "checkpoint/diff",
            checkpoints.CheckpointDiffParams,
            checkpoints.CheckpointDiff,
            "How the files differ between two moments.",
        ),
        Method(
            "checkpoint/preview",
            checkpoints.RevertPreviewParams,
            CommandOutcome,
            "What a revert would do, in the shape of its answer.",
        ),
        Method(
            "checkpoint/storage",
            checkpoints.StorageParams,
            checkpoints.CheckpointStorage,
            "How much checkpoints keep, and whose.",
        ),
        Method(
            "checkpoint/prune",
            checkpoints.PruneParams,
            checkpoints.PruneResult,
            "Delete checkpoints of threads that are gone, or list them.",
        ),
        Method(
            USE_PROFILE,
            ProfileParams,
            ProfileChosen,
            "Have a Codex of one's own configuration; before `initialize`, over the Unix socket.",
        ),
        Method(
            "sessions/list",
            agent_sessions.SessionListParams,
            agent_sessions.SessionList,
            "The sessions of all agents on this machine.",
        ),
        Method(
            "sessions/read",
            agent_sessions.SessionReadParams,
            agent_sessions.SessionRecords,
            "A session of any agent in the unified form, page by page.",
        ),
        Method(
            "sessions/export",
            agent_sessions.SessionExportParams,
            agent_sessions.SessionContent,
            "A whole session of any agent as a document.",
        ),
        Method(
            "sessions/continue",
            agent_sessions.SessionContinueParams,
            agent_sessions.ContinuedSession,
            "Begin a thread that holds the live context of a session of any agent.",
        ),
        Method("sidecar/status", NoParams, SidecarStatus, "How the daemon and its Codex are."),
        Method(
            "sidecar/metrics", MetricsParams, MetricsResult, "What the daemon counts about itself."
        ),
        Method(
            "sidecar/loginUrl", LoginUrlParams, LoginUrl, "An address that logs a browser in, once."
        ),
        Method(
            "sidecar/shutdown", NoParams, Empty, "Stop the daemon; running turns are interrupted."
        ),
    )
}

NOTIFICATIONS: dict[str, NotificationKind] = {
    kind.name: kind
    for kind in (
        NotificationKind(
            "orchestration/event", EventEnvelope, "One event of a thread that is followed."
        ),
        NotificationKind(
            "orchestration/synchronized", Synchronized, "The replay or snapshot is complete."
        ),
        NotificationKind("commands/progress", CommandProgress, "A slash command advances."),
        NotificationKind(
            "context/updated",
            ContextStatus,
            "The context meter of a thread that is taken part in or followed has changed.",
        ),
        NotificationKind(
            "sidecar/answerIgnored",
            AnswerIgnored,
            "An answer came too late, or to nothing; it was not passed on.",
        ),
    )
}
