"""Records compactions of turns in the middle of the context, each of which is a discard with a
summary.
"""

import msgspec

from trimpoint.core.evolve.compaction_attempts import note_trim
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState


def request_stretch(state: ThreadState, event: ev.StretchCompactionRequested, at_ms: int) -> None:
    """Records what the operation is to summarize, and how."""
    if state.operation is not None:
        state.operation.compaction_turns = (event.from_turn, event.through_turn)
        state.operation.compaction_guidance = event.guidance
        state.operation.compaction_model = event.model
        state.operation.compaction_effort = event.effort
        state.operation.compaction_force = event.force


def summarize_stretch(state: ThreadState, event: ev.StretchSummarized, at_ms: int) -> None:
    """Puts the summary in the place of what the discard took out."""
    summary = {"summary": event.summary, "summarized_messages": event.messages}
    state.discards = [
        msgspec.structs.replace(discard, **summary)
        if discard.id == event.trim_point_id
        else discard
        for discard in state.discards
    ]
    note_trim(state)
    state.compaction_count += 1
