"""How a generation is opened whose context follows a trim point: its summary, and turns."""

from collections.abc import Iterable

from trimpoint.core.context.active_context import Summary, next_generation
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState, TrimPoint, Turn


def generation_behind(
    state: ThreadState,
    point: TrimPoint | None,
    turns: Iterable[Turn],
    reason: str,
    *,
    in_provider: bool = False,
) -> ev.GenerationOpened:
    """The next generation, with `turns` and the readable summary of the trim point before them."""
    summary, skipped = None, 0
    if point is not None and point.summary is not None:
        trimmed = state.generations[point.generation - 1]
        # Where the provider began the generation, as in a fork, only the trim point has the count.
        count = trimmed.summarized_messages or point.pruned_message_count
        summary, skipped = Summary(point.summary, count), trimmed.skipped_items
    return next_generation(state, reason, turns, summary, skipped, in_provider=in_provider)
