"""The events of a thread. They are the content of the journal, and only they change a thread's
state.

This package is the journal's format. The meaning of a released tag never changes; new fields are
only appended, each with a default, because fields are stored by position.
`tests/core/model/test_event_format.py` compares the bytes with those of every earlier release.
Times are milliseconds since the epoch, UTC.

`threads` has the events of a thread as a whole, `sessions` those of generations and provider
threads, `context` those of trims, pins and compactions, `turns` those of prompts and answers, and
`reverts` those of checkpoints and reverts, `queue` those of prompts that wait; `event` has their
base class.
"""

import msgspec

from trimpoint.core.model.events.context import (
    AutoChosen,
    CompactionFailed,
    CompactionForked,
    CompactionRequested,
    ContextDiscarded,
    ContextMasked,
    ContextPinned,
    ContextSummarized,
    ContextUnpinned,
    DraftWritten,
    OverflowRecoveryRequested,
    StretchCompactionRequested,
    StretchSummarized,
    TrimPointCreated,
    TrimRedone,
    TrimUndone,
    TurnRetried,
)
from trimpoint.core.model.events.event import Event
from trimpoint.core.model.events.queue import (
    PromptEdited,
    PromptQueued,
    PromptSent,
    PromptsReordered,
    PromptWithdrawn,
    QueueHeld,
    QueueReleased,
)
from trimpoint.core.model.events.reverts import (
    CheckpointCaptured,
    CheckpointFailed,
    CheckpointRestored,
    FilesRestored,
    RevertPlanned,
    RevertPrepared,
    RevertRequested,
)
from trimpoint.core.model.events.sessions import (
    ContextLost,
    GenerationOpened,
    ProviderThreadBound,
    SessionReady,
    SessionStartRequested,
    SessionStopped,
    SessionStopRequested,
)
from trimpoint.core.model.events.threads import (
    ArchivedAndNewCreated,
    CommandRejected,
    HandedOff,
    NameConfirmed,
    OperationAdvanced,
    OperationStarted,
    SettingsChanged,
    ThreadArchived,
    ThreadCreated,
    ThreadRenamed,
    ThreadUnarchived,
)
from trimpoint.core.model.events.turns import (
    ACCEPTED_FOR_SESSION,
    CONTEXT_WINDOW_EXCEEDED,
    PART,
    PAUSED,
    REST,
    ContextItemsRecorded,
    EntryRecorded,
    ItemsInjected,
    RequestClosed,
    RequestOpened,
    TurnCompleted,
    TurnInterruptRequested,
    TurnRequested,
    TurnRequestEnded,
    TurnsRolledBack,
    TurnStarted,
    UsageReported,
)

__all__ = [
    "ACCEPTED_FOR_SESSION",
    "CONTEXT_WINDOW_EXCEEDED",
    "PART",
    "PAUSED",
    "REST",
    "AnyEvent",
    "ArchivedAndNewCreated",
    "AutoChosen",
    "CheckpointCaptured",
    "CheckpointFailed",
    "CheckpointRestored",
    "CommandRejected",
    "CompactionFailed",
    "CompactionForked",
    "CompactionRequested",
    "ContextDiscarded",
    "ContextItemsRecorded",
    "ContextLost",
    "ContextMasked",
    "ContextPinned",
    "ContextSummarized",
    "ContextUnpinned",
    "DraftWritten",
    "EntryRecorded",
    "Event",
    "FilesRestored",
    "GenerationOpened",
    "HandedOff",
    "ItemsInjected",
    "NameConfirmed",
    "OperationAdvanced",
    "OperationStarted",
    "OverflowRecoveryRequested",
    "PromptEdited",
    "PromptQueued",
    "PromptSent",
    "PromptWithdrawn",
    "PromptsReordered",
    "ProviderThreadBound",
    "QueueHeld",
    "QueueReleased",
    "Record",
    "RequestClosed",
    "RequestOpened",
    "RevertPlanned",
    "RevertPrepared",
    "RevertRequested",
    "SessionReady",
    "SessionStartRequested",
    "SessionStopRequested",
    "SessionStopped",
    "SettingsChanged",
    "StretchCompactionRequested",
    "StretchSummarized",
    "ThreadArchived",
    "ThreadCreated",
    "ThreadRenamed",
    "ThreadUnarchived",
    "TrimPointCreated",
    "TrimRedone",
    "TrimUndone",
    "TurnCompleted",
    "TurnInterruptRequested",
    "TurnRequestEnded",
    "TurnRequested",
    "TurnRetried",
    "TurnStarted",
    "TurnsRolledBack",
    "UsageReported",
]

AnyEvent = (
    ThreadCreated
    | GenerationOpened
    | ProviderThreadBound
    | SessionReady
    | SessionStopRequested
    | SessionStopped
    | SessionStartRequested
    | OperationStarted
    | OperationAdvanced
    | TrimPointCreated
    | ContextSummarized
    | ContextDiscarded
    | ContextMasked
    | StretchSummarized
    | TrimUndone
    | TrimRedone
    | ContextPinned
    | ContextUnpinned
    | AutoChosen
    | CompactionRequested
    | StretchCompactionRequested
    | DraftWritten
    | CompactionForked
    | CompactionFailed
    | OverflowRecoveryRequested
    | TurnRetried
    | ArchivedAndNewCreated
    | HandedOff
    | ThreadArchived
    | ThreadUnarchived
    | ThreadRenamed
    | NameConfirmed
    | SettingsChanged
    | TurnRequested
    | TurnRequestEnded
    | TurnStarted
    | EntryRecorded
    | ContextItemsRecorded
    | ItemsInjected
    | UsageReported
    | TurnInterruptRequested
    | TurnCompleted
    | TurnsRolledBack
    | CheckpointCaptured
    | CheckpointFailed
    | RevertRequested
    | RevertPrepared
    | RevertPlanned
    | FilesRestored
    | CheckpointRestored
    | RequestOpened
    | RequestClosed
    | PromptQueued
    | PromptEdited
    | PromptsReordered
    | PromptWithdrawn
    | PromptSent
    | QueueHeld
    | QueueReleased
    | ContextLost
    | CommandRejected
)


class Record(msgspec.Struct, frozen=True, array_like=True):
    """The events of one decision, written to the journal as a whole or not at all.

    `sequence` and `thread_sequence` are the numbers of the first event; the other events follow
    without gaps. `fingerprint` identifies the command's arguments, so that a command id that is
    used again with other arguments is not taken for a repetition. `asked_by` names the person who
    sent the command from another machine, and is empty for clients of this machine.
    """

    sequence: int
    thread_sequence: int
    occurred_at_ms: int
    events: tuple[AnyEvent, ...]
    command_id: str | None = None
    fingerprint: bytes = b""
    operation_id: str | None = None
    asked_by: str = ""
