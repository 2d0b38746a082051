"""Words the summaries that stand in the context."""

from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import Summary
from trimpoint.core.decide.stretches import turns_text
from trimpoint.core.decide.summaries import editable_summary
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import Said
from trimpoint.core.model.state import ThreadState

_EDITED = CommandHint("/summary edit", "gives you the first to change")


def summary_said(state: ThreadState) -> Said:
    """Returns the summary that the context begins with, and those of turns in the middle."""
    first, parts = editable_summary(state), _in_the_middle(state)
    if isinstance(first, Summary):
        parts = [f"It stands for {counted(first.messages, 'message')}:\n\n{first.text}", *parts]
        return Said("\n\n".join(parts), (_EDITED,))
    return Said("\n\n".join([first.said, *parts]), first.hints)


def _in_the_middle(state: ThreadState) -> list[str]:
    active = {turn.id for turn in state.active_turns}
    said = list[str]()
    for discard in state.discards:
        if discard.summary is not None and active & discard.positions.keys():
            numbers = [state.turn_index[turn_id] + 1 for turn_id in discard.positions]
            said.append(f"For {turns_text(numbers[0], numbers[-1])}:\n\n{discard.summary}")
    return said
