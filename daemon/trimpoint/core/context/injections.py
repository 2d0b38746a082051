"""Finds the place of items that a client puts into the context (docs/spec/context.md)."""

from collections.abc import Sequence

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState


def injection(state: ThreadState, items: Sequence[bytes]) -> tuple[ev.AnyEvent, ...]:
    """Returns the facts of an injection now: behind the last turn of the context, or, while no turn
    stands in it, before the next one. What is injected next to such items joins them.
    """
    if not items:
        return ()
    if state.active_turn_count == 0 or state.injected_before_next:
        return (ev.ItemsInjected(tuple(items)),)
    last = state.turns[-1]
    behind_its_end = 0 if last.status == "running" else len(items)
    return (ev.ContextItemsRecorded(last.id, tuple(items), injected=behind_its_end),)
