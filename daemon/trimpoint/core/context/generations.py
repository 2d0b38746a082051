"""Creates the events that open a generation with a given context, and derives a generation's
bootstrap.
"""

from collections.abc import Iterable, Sequence

from trimpoint.core.context.active_context import (
    SEALED_SUMMARY_LOST,
    Summary,
    context_items,
    current_summary,
    has_sealed_summary,
    plan_trim,
)
from trimpoint.core.context.pins import carried_pins, pin_items
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import TrimPoint, Turn
from trimpoint.core.model.state import Generation, ThreadState


def rebuilt_generation(state: ThreadState) -> tuple[ev.AnyEvent, ...]:
    """Returns the events that open a generation with the active context rebuilt from the ledger,
    after Codex lost its copy.

    A sealed summary was only in that copy; the event `ContextLost` reports its loss.
    """
    lost = state.generation
    opened = reopened_generation(state, "resume")
    if not has_sealed_summary(state):
        return (opened,)
    return (opened, ev.ContextLost(lost.number, SEALED_SUMMARY_LOST))


def reopened_generation(state: ThreadState, reason: str) -> ev.GenerationOpened:
    """Returns the event that opens the next generation with the present active context."""
    skipped = state.generation.skipped_items
    return next_generation(state, reason, state.active_turns, current_summary(state), skipped)


def next_generation(
    state: ThreadState,
    reason: str,
    turns: Iterable[Turn],
    summary: Summary | None = None,
    skipped_items: int = 0,
    *,
    in_provider: bool = False,
    ledger: Sequence[Turn] | None = None,
) -> ev.GenerationOpened:
    """Returns the event that opens the next generation, with `summary`, the pins of earlier turns,
    and `turns`. `ledger` are all turns of the thread; None means those of the state.

    Only this function decides the bootstrap: `provider` if the provider thread holds the context
    already, else `summary` (with turns), else `turns`, else `none`. `skipped_items` is the number
    of items of the first turn that the summary covers; it is ignored without a summary.
    """
    turn_ids = tuple(turn.id for turn in turns)
    pins = tuple(pin.id for pin in carried_pins(state, turn_ids, ledger))
    number = state.generation.number + 1
    if summary is None:
        bootstrap = "provider" if in_provider else "turns" if turn_ids or pins else "none"
        return ev.GenerationOpened(number, reason, bootstrap, turn_ids, pins=pins)
    bootstrap = "provider" if in_provider else "summary"
    return ev.GenerationOpened(
        number, reason, bootstrap, turn_ids, summary.text, summary.messages, skipped_items, pins
    )


def bootstrap_items(state: ThreadState, generation: Generation) -> list[bytes]:
    """Returns the raw items to inject into the generation's provider thread, in order. The list is
    empty if the generation starts from nothing, or if the provider thread holds the context
    already.
    """
    if generation.bootstrap == "provider":
        return []
    given = set(generation.turn_ids)
    return context_items(
        state,
        generation.summary,
        generation.summarized_messages,
        [turn for turn in state.active_turns if turn.id in given],
        generation.skipped_items,
        pinned=pin_items(state, generation.pins),
        injected=state.active_injected,
    )


def context_for_new_provider_thread(state: ThreadState) -> list[bytes]:
    """Returns the raw items that a new provider thread with the present context would be given. The
    context must not begin with a sealed summary.
    """
    summary = current_summary(state)
    return context_items(
        state,
        summary.text if summary is not None else None,
        summary.messages if summary is not None else 0,
        state.active_turns,
        state.generation.skipped_items,
        pinned=pin_items(state, state.generation.pins),
        injected=state.active_injected,
    )


def conversation_items(state: ThreadState) -> list[bytes]:
    """Returns the items of the context that the ledger knows, in order."""
    generation = state.generation
    if generation.bootstrap == "provider":
        return context_items(state, None, 0, state.active_turns, injected=state.active_injected)
    given = frozenset(generation.turn_ids)
    own = [turn for turn in state.active_turns if turn.id not in given]
    # Nothing is injected before the next turn behind turns that ran in this generation.
    return [*bootstrap_items(state, generation), *context_items(state, None, 0, own)]


def generation_behind(
    state: ThreadState,
    point: TrimPoint | None,
    turns: Iterable[Turn],
    reason: str,
    *,
    in_provider: bool = False,
    ledger: Sequence[Turn] | None = None,
) -> ev.GenerationOpened:
    """Returns the event that opens the next generation with `turns` and, if readable, the summary
    of the trim point before them.
    """
    summary, skipped = None, 0
    if point is not None and point.summary is not None:
        trimmed = state.generations[point.generation - 1]
        # If Codex began the generation, as in a fork, only the trim point has the count.
        count = trimmed.summarized_messages or point.pruned_message_count
        summary, skipped = Summary(point.summary, count), trimmed.skipped_items
    return next_generation(
        state, reason, turns, summary, skipped, in_provider=in_provider, ledger=ledger
    )


def items_beside(state: ThreadState, keep_last_n_turns: int) -> list[bytes]:
    """Returns the raw items that follow a summary: those of the pins and of the last N active
    turns, and the items injected after these turns.
    """
    trim = plan_trim(state, keep_last_n_turns)
    kept = trim.kept if trim is not None else state.active_turns
    pins = carried_pins(state, [turn.id for turn in kept])
    pinned = pin_items(state, [pin.id for pin in pins])
    injected = state.active_injected if kept else ()
    return context_items(state, None, 0, kept, pinned=pinned, injected=injected)
