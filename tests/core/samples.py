"""One event of every type with every field set, for tests of formats. `SECRET` is in each private
field.
"""

from typing import get_args

from trimpoint.core.model import events as ev

SECRET = "for the provider only"
_SETTINGS = b'{"model":"' + SECRET.encode() + b'"}'
_ITEM = b'{"type":"message","content":"' + SECRET.encode() + b'"}'

SAMPLES: tuple[ev.AnyEvent, ...] = (
    ev.ThreadCreated(
        "thread",
        "/work",
        "started",
        _SETTINGS,
        "project",
        "worktree",
        "main",
        "parent",
        "name",
        15_000,
        258_400,
        _SETTINGS,
    ),
    ev.GenerationOpened(2, "compact", "summary", ("turn-2", "turn-3"), "in short", 12, 5, ("pin",)),
    ev.ProviderThreadBound(2, SECRET, f"/{SECRET}", True),
    ev.SessionReady(2),
    ev.SessionStopRequested(1),
    ev.SessionStopped(1, "background terminals"),
    ev.SessionStartRequested(2),
    ev.OperationStarted("operation", "clear"),
    ev.OperationAdvanced("operation", "failed", "message", "provider_timeout"),
    ev.TrimPointCreated(
        "thread",
        "trim-point",
        1_764_000_000_000,
        "entry-4",
        4,
        ("turn-1",),
        "turn-2",
        2,
        "compact",
        True,
        1,
        "turn-1",
        2,
    ),
    ev.ContextSummarized("thread", "trim-point", "in short", 1_500, "small", "the names", 900, 90),
    ev.ContextDiscarded(
        "thread",
        "trim-point",
        1_764_000_000_000,
        ("entry-2", "turn-2#call_0"),
        (("turn-1", (1, 2)), ("turn-2", (0,))),
        3,
        "agent",
        900,
    ),
    ev.ContextMasked(
        "thread",
        "trim-point",
        1_764_000_000_000,
        ("entry-2",),
        (("turn-1", (1, 2)),),
        3,
        "compress",
        900,
        ("entry-3", "turn-2#call_0"),
        (("turn-2", ((0, "h2.1"), (4, ""))),),
        120_000,
    ),
    ev.StretchSummarized(
        "thread", "trim-point", "in short", 18, 1_500, "small", "the names", 900, 90
    ),
    ev.TrimUndone("thread", "trim-point", 4),
    ev.TrimRedone("thread", "trim-point", 5),
    ev.ContextPinned("thread", "pin", "turn-1", "the rules"),
    ev.ContextUnpinned("thread", "pin"),
    ev.AutoChosen("mask", None),
    ev.CompactionRequested("operation", 3, "keep the names", "automatic", "small", "low", True),
    ev.StretchCompactionRequested("operation", 4, 12, "keep the names", "small", "low", True),
    ev.DraftWritten("thread", "operation", "in short", 1_500),
    ev.CompactionForked("operation", SECRET),
    ev.CompactionFailed("operation", "the model said nothing"),
    ev.OverflowRecoveryRequested("operation", "turn-1"),
    ev.TurnRetried("turn-1", SECRET, 2),
    ev.ArchivedAndNewCreated(
        "thread", "thread-2", "worktree", "main", "project", "/work", _SETTINGS, True
    ),
    ev.HandedOff("thread", "thread-2", "go on with it", "the goal"),
    ev.ThreadArchived(),
    ev.ThreadUnarchived(),
    ev.ThreadRenamed("better name", True),
    ev.NameConfirmed("better name"),
    ev.SettingsChanged(_SETTINGS),
    ev.TurnRequested("request"),
    ev.TurnRequestEnded("request", "turn-1", "overloaded"),
    ev.TurnStarted("turn-1", 1),
    ev.EntryRecorded(
        "turn-1", "entry-1", "activity", "commandExecution", "ls", b'{"command":"ls"}', "rest", "m1"
    ),
    ev.ContextItemsRecorded("turn-1", (_ITEM, b"{}"), "rollout"),
    ev.ItemsInjected((_ITEM, b"{}")),
    ev.UsageReported("turn-1", 9_000, 20_000, 258_400, 8_900, 8_000, 100, 60),
    ev.TurnInterruptRequested("turn-2", "alice"),
    ev.TurnCompleted("turn-1", "failed", "no room", False, "contextWindowExceeded"),
    ev.TurnsRolledBack("turn-1"),
    ev.CheckpointCaptured(
        "turn-1",
        "after",
        "/work",
        "refs/trimpoint/checkpoints/thread/turn-1",
        "c0ffee",
        ("big.bin left out",),
    ),
    ev.CheckpointFailed("turn-2", "before", "no git repository"),
    ev.RevertRequested("operation", "turn-1", "files+context", False, True, "/work", "c0ffee"),
    ev.RevertPrepared("operation", SECRET),
    ev.RevertPlanned(
        "operation", "refs/trimpoint/checkpoints/thread/reverted", "beef", ("a",), ("b",), ("c",)
    ),
    ev.FilesRestored("operation", "c0ffee", 3, 1),
    ev.CheckpointRestored("operation", "turn-1", "files+context", True),
    ev.RequestOpened("0", "item/commandExecution/requestApproval"),
    ev.RequestClosed("0", "expired"),
    ev.PromptQueued("prompt", b'[{"type":"text","text":"go on"}]', "client-prompt"),
    ev.PromptEdited("prompt", b'[{"type":"text","text":"stop"}]'),
    ev.PromptsReordered(("prompt-2", "prompt")),
    ev.PromptWithdrawn("prompt"),
    ev.PromptSent("prompt-2", "turn-1"),
    ev.QueueHeld("failed", "no room"),
    ev.QueueReleased(),
    ev.ContextLost(2, "rollout is gone"),
    ev.CommandRejected("turn_in_progress", "A turn is running."),
)
assert tuple(type(sample) for sample in SAMPLES) == get_args(ev.AnyEvent)
