"""The rules of `/compact 4..12`: a summary stands in the place of these turns (docs/adr/0029)."""

from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.context.active_context import context_items, message_count
from trimpoint.core.decide.discarding import removed
from trimpoint.core.decide.stretches import Stretch, ends_of, whole
from trimpoint.core.decide.trimming import (
    CAME_TO_NOTHING,
    compaction_under_way,
    kind_of,
    restarted_with,
    summary_tokens,
    unless_blank,
)
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Policy, Rejected, Stamp
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.usage import model_in

COMPACT = "compact"
"""The trigger of a discard with a summary in its place."""


def compact_stretch(
    state: ThreadState, command: wire.CompactContext, stamp: Stamp, policy: Policy
) -> Decision:
    """Decides `/compact 4..12`: returns the request for a summary, or the rejection. The context
    does not change yet.
    """
    found = stretch_to_compact(state, command)
    if isinstance(found, Rejected):
        return found
    requested = ev.StretchCompactionRequested(
        stamp.id,
        found.first,
        found.last,
        unless_blank(command.guidance),
        command.model or policy.summarizer.model_for(model_in(state.settings)),
        policy.summarizer.effort,
        command.force,
    )
    return Accepted((ev.OperationStarted(stamp.id, kind_of(command)), requested), stamp.id)


def stretch_to_compact(state: ThreadState, command: wire.CompactContext) -> Stretch | Rejected:
    """Returns the turns that the command names, or the rejection."""
    if command.keep_last_n_turns:
        return Rejected(Reason.USAGE, "Say either which turns to summarize, or how many to keep.")
    ends = ends_of(state, command, "summarized")
    return ends if isinstance(ends, Rejected) else whole(state, *ends, "summarized")


def summarized_items(state: ThreadState, operation: Operation) -> list[bytes]:
    """Returns the raw items of the turns that the operation summarizes, as the model sees them; the
    summary is made of what is pinned, too.
    """
    first, last = _turns(operation)
    return context_items(state, None, 0, state.turns[first - 1 : last])


def summarized_tokens(state: ThreadState, operation: Operation) -> int:
    """Returns the estimated tokens of what the summary of the operation stands for."""
    found = whole(state, *_turns(operation), "summarized")
    return 0 if isinstance(found, Rejected) else found.tokens


def complete_stretch(
    state: ThreadState, command: internal.CompleteCompaction, stamp: Stamp
) -> Decision:
    """Completes the compaction of a stretch: returns the discard with the summary in its place, or
    the rejection.
    """
    operation = compaction_under_way(state, command)
    if isinstance(operation, Rejected):
        return operation
    return summarized(state, operation, command, stamp)


def summarized(
    state: ThreadState,
    operation: Operation,
    command: internal.CompleteCompaction,
    stamp: Stamp,
) -> Decision:
    """Returns the discard with the summary that the operation was for, or the rejection."""
    found = whole(state, *_turns(operation), "summarized")
    summary = unless_blank(command.summary)
    if isinstance(found, Rejected) or summary is None:
        return Rejected(Reason.COMPACTION_FAILED, CAME_TO_NOTHING)
    _, discarded, *opened = removed(state, found.segments, (), stamp, COMPACT).events
    gone = {segment.turn_id for segment in found.segments}
    turns = [turn for turn in state.turns[found.first - 1 : found.last] if turn.id in gone]
    summarized = ev.StretchSummarized(
        state.id,
        stamp.id,
        summary,
        message_count(state, turns),
        command.compact_duration_ms,
        operation.compaction_model,
        operation.compaction_guidance,
        found.tokens,
        summary_tokens(summary),
    )
    return restarted_with((discarded, summarized, *opened), operation)


def _turns(operation: Operation) -> tuple[int, int]:
    assert operation.compaction_turns is not None
    return operation.compaction_turns
