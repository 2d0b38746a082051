"""The registry of trimpoint's own methods and notifications: name, direction, types, and a line of
description. Their types are defined in the modules that are imported here, and can be imported from
here.

The dispatch, the JSON Schema and the reference page are made from `METHODS` and `NOTIFICATIONS`.
Codex's own methods are not listed.
"""

from typing import Any, NamedTuple

from trimpoint_protocol.readmodel import (
    ContextStatus,
    EventEnvelope,
    WireStruct,
)
from trimpoint_protocol.shapes import agent_sessions, checkpoints, fleet, history
from trimpoint_protocol.shapes.context import (
    ClassTotal,
    ContextAdvice,
    ContextInspection,
    ContextMessage,
    ContextMessageList,
    InspectedItem,
    ItemClassName,
    TrimAdvice,
)
from trimpoint_protocol.shapes.notices import Notice, NoticeKind
from trimpoint_protocol.shapes.orchestration import (
    MAX_PAGE,
    DispatchParams,
    DispatchResult,
    ExportParams,
    ExportResult,
    PageSize,
    SnapshotParams,
    SnapshotResult,
    SubscribeParams,
    SubscribeResult,
    Synchronized,
    ThreadOverview,
    TimelinePage,
    TimelineParams,
)
from trimpoint_protocol.shapes.sidecar import (
    USE_PROFILE,
    AnswerIgnored,
    CodexState,
    CodexStatus,
    LoginUrl,
    LoginUrlParams,
    MetricFamily,
    MetricKind,
    MetricSample,
    MetricsParams,
    MetricsResult,
    ProfileChosen,
    ProfileParams,
    ProfileStatus,
    ShutdownParams,
    ShutdownResult,
    SidecarStatus,
)
from trimpoint_protocol.shapes.slash_commands import (
    CancelParams,
    CancelResult,
    CommandDraft,
    CommandInfo,
    CommandList,
    CommandOutcome,
    CommandProgress,
    CommandStatus,
    CompleteParams,
    CompressionClass,
    CompressionPreview,
    ExecuteParams,
    TokenChange,
    TrimCost,
)
from trimpoint_protocol.shapes.stats import Stats, StatsParams
from trimpoint_protocol.shapes.structs import (
    Empty,
    NoParams,
    ThreadParams,
)
from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

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
    "CommandDraft",
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
    "Notice",
    "NoticeKind",
    "NotificationKind",
    "PageSize",
    "ProfileChosen",
    "ProfileParams",
    "ProfileStatus",
    "ShutdownParams",
    "ShutdownResult",
    "SidecarStatus",
    "SnapshotParams",
    "SnapshotResult",
    "Stats",
    "StatsParams",
    "SubscribeParams",
    "SubscribeResult",
    "Synchronized",
    "ThreadOverview",
    "ThreadParams",
    "TimelinePage",
    "TimelineParams",
    "TokenChange",
    "TrimAdvice",
    "TrimCost",
]


class Method(NamedTuple):
    """A method: its parameters and its result."""

    name: str
    params: type[Params]
    result: type[Result] | type[WireStruct]
    description: str


class NotificationKind(NamedTuple):
    """A notification: its parameters."""

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
            "orchestration/subscribeNotices",
            NoParams,
            Empty,
            "Be told of all threads what a person who looks elsewhere may want to know.",
        ),
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
            "The older name of sessions/export, for threads: a whole thread as a document.",
        ),
        Method("context/status", ThreadParams, ContextStatus, "How full the agent's context is."),
        Method("stats/read", StatsParams, Stats, "What the model calls of all threads took."),
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
            "checkpoint/file",
            checkpoints.CheckpointFileParams,
            checkpoints.FileContent,
            "A file as it was at a moment.",
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
            "A whole thread, or a session of another agent, as a document.",
        ),
        Method(
            "sessions/continue",
            agent_sessions.SessionContinueParams,
            agent_sessions.ContinuedSession,
            "Begin a thread that holds the live context of a session of any agent.",
        ),
        Method(
            "fleet/overview",
            NoParams,
            fleet.FleetOverview,
            "The machines of the team's fleet and their threads; empty without one.",
        ),
        Method(
            "fleet/events",
            fleet.FleetEventsParams,
            fleet.FleetEventsResult,
            "What happened in a thread of any machine, as the fleet's servers have it.",
        ),
        Method(
            "fleet/execute",
            fleet.FleetExecuteParams,
            CommandOutcome,
            "Have a machine of the fleet clear, compact or interrupt one of its threads.",
        ),
        Method("sidecar/status", NoParams, SidecarStatus, "How the daemon and its Codex are."),
        Method(
            "sidecar/metrics", MetricsParams, MetricsResult, "What the daemon counts about itself."
        ),
        Method(
            "sidecar/loginUrl", LoginUrlParams, LoginUrl, "An address that logs a browser in, once."
        ),
        Method(
            "sidecar/shutdown",
            ShutdownParams,
            ShutdownResult,
            "Stop the daemon; running turns are interrupted.",
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
        NotificationKind(
            "orchestration/notice",
            Notice,
            "A thread has something to tell a person; for those who asked with "
            "`orchestration/subscribeNotices`.",
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
