"""What of a thread is read again after an event or a notification."""

from typing import Literal

Reading = Literal["timeline", "tail", "threads", "marks", "queue", "context"]

_QUEUE_EVENTS = (
    "thread.prompt-queued", "thread.prompt-edited", "thread.prompts-reordered",
    "thread.prompt-withdrawn", "thread.prompt-sent", "thread.queue-held", "thread.queue-released",
)  # fmt: skip
_THREAD_EVENTS = (
    "thread.turn-requested", "thread.turn-request-ended", "thread.turn-retried",
    "thread.operation-started", "thread.request-opened", "thread.request-closed",
    "thread.archived", "thread.unarchived", "thread.renamed",
)  # fmt: skip
# What is read again after an event. Those that are not here change nothing that is shown.
READ_AFTER: dict[str, tuple[Reading, ...]] = {
    **dict.fromkeys(_QUEUE_EVENTS, ("queue",)),
    **dict.fromkeys(_THREAD_EVENTS, ("threads",)),
    "thread.entry-recorded": ("tail",),
    "thread.turn-started": ("threads", "marks"),
    "thread.turn-completed": ("tail", "threads", "marks"),
    "thread.trim-point-created": ("timeline", "context"),
    "thread.context-summarized": ("timeline",),
    "thread.context-discarded": ("timeline", "context"),
    "thread.context-masked": ("timeline", "context"),
    "thread.trim-undone": ("timeline", "context"),
    "thread.trim-redone": ("timeline", "context"),
    "thread.turns-reverted": ("timeline", "marks", "context"),
    "thread.context-pinned": ("context",),
    "thread.context-unpinned": ("context",),
    "thread.operation-advanced": ("threads", "context"),
    "thread.reverted": ("timeline", "threads", "marks"),
}
LIST_CHANGED = frozenset(
    {
        "thread/started", "thread/archived", "thread/unarchived", "thread/deleted",
        "thread/name/updated", "thread/status/changed",
    }
)  # fmt: skip
