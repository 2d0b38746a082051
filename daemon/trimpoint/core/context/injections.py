"""Decides where items that a client injects are recorded (docs/spec/context.md)."""

from collections.abc import Sequence

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState


def injection(state: ThreadState, items: Sequence[bytes]) -> tuple[ev.AnyEvent, ...]:
    """Returns the events that record injected items. They belong to the last turn of the active
    context. If it has no turn, or such items wait already, they are recorded before the next turn.
    """
    if not items:
        return ()
    if state.active_turn_count == 0 or state.injected_before_next:
        return (ev.ItemsInjected(tuple(items)),)
    last = state.turns[-1]
    behind_its_end = 0 if last.status == "running" else len(items)
    return (ev.ContextItemsRecorded(last.id, tuple(items), injected=behind_its_end),)
