"""Selects the members of an event that leave the machine. Pure.

Always true: only members that are listed here are sent. Of a new event type only the type is sent
until its members are listed.
"""

import re
from typing import Any, Literal

import msgspec
from trimpoint_protocol.readmodel import EventEnvelope

from trimpoint.core.model import events as ev
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.views.view import public_fields, wire_name, wire_value

Content = Literal["none", "titles", "full"]

NUMBERS_AND_STATES: dict[type[ev.AnyEvent], tuple[str, ...]] = {
    ev.ThreadCreated: (
        "thread_id", "origin", "parent_thread_id", "overhead_tokens", "window_tokens",
    ),
    ev.GenerationOpened: (
        "generation", "reason", "bootstrap", "summarized_messages", "skipped_items",
    ),
    ev.ProviderThreadBound: ("generation", "raw_events"),
    ev.SessionReady: ("generation",),
    ev.SessionStopRequested: ("generation",),
    ev.SessionStopped: ("generation",),
    ev.SessionStartRequested: ("generation",),
    ev.OperationStarted: ("operation_id", "kind"),
    ev.OperationAdvanced: ("operation_id", "phase", "reason"),
    ev.TrimPointCreated: (
        "thread_id", "trim_point_id", "created_at_ms", "before_entry_id", "pruned_message_count",
        "first_kept_turn_id", "generation", "summary_unavailable", "pruned_turn_count",
        "last_pruned_turn_id", "pruned_injected",
    ),
    ev.ContextSummarized: (
        "thread_id", "trim_point_id", "compact_duration_ms", "tokens_before", "tokens_after",
    ),
    ev.ContextDiscarded: (
        "thread_id", "trim_point_id", "created_at_ms", "generation", "est_tokens",
    ),
    ev.ContextMasked: (
        "thread_id", "trim_point_id", "created_at_ms", "generation", "est_tokens",
    ),
    ev.StretchCompactionRequested: ("operation_id", "from_turn", "through_turn", "force"),
    ev.StretchSummarized: (
        "thread_id", "trim_point_id", "messages", "compact_duration_ms", "tokens_before",
        "tokens_after",
    ),
    ev.TrimUndone: ("thread_id", "trim_point_id", "generation"),
    ev.TrimRedone: ("thread_id", "trim_point_id", "generation"),
    ev.ContextPinned: ("thread_id", "pin_id", "turn_id"),
    ev.ContextUnpinned: ("thread_id", "pin_id"),
    ev.AutoChosen: ("mode", "former"),
    ev.CompactionRequested: ("operation_id", "keep_last_n_turns", "force"),
    ev.DraftWritten: ("thread_id", "draft_id", "duration_ms"),
    ev.CompactionForked: ("operation_id",),
    ev.CompactionFailed: ("operation_id",),
    ev.OverflowRecoveryRequested: ("operation_id", "turn_id"),
    ev.TurnRetried: ("turn_id", "generation"),
    ev.ArchivedAndNewCreated: ("archived_thread_id", "new_thread_id", "with_pins"),
    ev.HandedOff: ("thread_id", "new_thread_id"),
    ev.TurnRequested: ("request_id",),
    ev.TurnRequestEnded: ("request_id", "turn_id"),
    ev.TurnStarted: ("turn_id", "generation"),
    ev.EntryRecorded: ("turn_id", "entry_id", "kind", "role", "extent"),
    ev.ContextItemsRecorded: ("turn_id", "source", "injected"),
    ev.ItemsInjected: (),
    ev.UsageReported: (
        "turn_id", "last_total", "total", "window", "input", "cached_input", "output",
        "reasoning_output",
    ),
    ev.TurnInterruptRequested: ("turn_id", "asked_by"),
    ev.TurnCompleted: ("turn_id", "status", "items_heard", "error_kind"),
    ev.TurnsRolledBack: ("turn_id",),
    ev.CheckpointCaptured: ("turn_id", "moment"),
    ev.CheckpointFailed: ("turn_id", "moment"),
    ev.RevertRequested: ("operation_id", "turn_id", "scope", "undo", "force"),
    ev.RevertPrepared: ("operation_id",),
    ev.RevertPlanned: ("operation_id",),
    ev.FilesRestored: ("operation_id", "written", "removed"),
    ev.CheckpointRestored: ("operation_id", "turn_id", "scope", "undone"),
    ev.RequestOpened: ("request_id", "method"),
    ev.RequestClosed: ("request_id", "outcome"),
    ev.PromptQueued: ("prompt_id",),
    ev.PromptEdited: ("prompt_id",),
    ev.PromptsReordered: (),
    ev.PromptWithdrawn: ("prompt_id",),
    ev.PromptSent: ("prompt_id", "turn_id"),
    ev.QueueHeld: ("reason",),
    ev.QueueReleased: (),
    ev.ContextLost: ("generation",),
    ev.NameConfirmed: (),
    ev.CommandRejected: ("reason",),
}  # fmt: skip
"""What is sent of each event with `content = "none"`."""

TITLES: dict[type[ev.AnyEvent], tuple[str, ...]] = {
    ev.ThreadCreated: ("name", "cwd", "branch_name"),
    ev.ThreadRenamed: ("name",),
    ev.NameConfirmed: ("name",),
    ev.ArchivedAndNewCreated: ("cwd", "branch_name"),
}
"""What is sent beside that with `content = "titles"`."""

# An id or a state; a sentence does not look like this, whatever field it came into.
_WORD = re.compile(r"[\w.:/+-]{0,128}|accepted for session", re.ASCII)
_MAX_TEXT_CHARS = 16_000


def shown(record: ev.Record, index: int, thread_id: str, content: Content) -> EventEnvelope:
    """Returns an event of a record in the form that is sent."""
    event = record.events[index]
    thread_sequence = record.thread_sequence + index
    return EventEnvelope(
        sequence=record.sequence + index,
        thread_sequence=thread_sequence,
        event_id=f"{thread_id}/{thread_sequence}",
        occurred_at=rfc3339(record.occurred_at_ms),
        # A client chooses it, and may write anything into it.
        command_id=record.command_id if content == "full" else None,
        operation_id=record.operation_id,
        type=str(event.__struct_config__.tag),
        payload=_payload(event, content),
        asked_by=record.asked_by or None,
    )


def shortened(event: EventEnvelope) -> EventEnvelope:
    """Returns an event that is too large to be sent, with its long texts cut."""
    payload = {key: _cut(value) for key, value in event.payload.items()}
    return msgspec.structs.replace(event, payload={**payload, "isCut": True})


def _payload(event: ev.AnyEvent, content: Content) -> dict[str, Any]:
    if content == "full":
        return {
            wire_name(field): wire_value(field, getattr(event, field))
            for field in public_fields(event)
            if field != "pruned_turn_ids"
        }
    numbers = NUMBERS_AND_STATES.get(type(event), ())
    titles = TITLES.get(type(event), ()) if content == "titles" else ()
    return {
        **{wire_name(name): _state(name, getattr(event, name)) for name in numbers},
        **{wire_name(name): getattr(event, name) for name in titles},
    }


def _state(field: str, value: Any) -> Any:
    """Returns a number or a state word; None for any other text."""
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return None
    return wire_value(field, value)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MAX_TEXT_CHARS]
    return value if isinstance(value, int | float | None) else None
