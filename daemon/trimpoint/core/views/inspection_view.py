"""Renders the inspection of a context for clients and as text for a chat."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from trimpoint_protocol.methods import (
    ClassTotal,
    ContextAdvice,
    ContextInspection,
    InspectedItem,
)

from trimpoint.core.context.context_size import percent_text
from trimpoint.core.context.inspection import InspectedItem as Item
from trimpoint.core.context.inspection import ItemClass, inspect_context
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.meter import context_status

BAR_CELLS: Final = 20
LARGEST: Final = 5
REST: Final = "tools, rest"
"""What the model counts and no item shows: its tools, and the error of the estimates."""
PREDICTED = (
    "Codex writes its own items with the next turn; these are as the session before had them."
)
SWITCHED = (
    "The model was changed: Codex tells the model so with the next turn, which is not listed."
)
UNKNOWN = "Codex has not written its instructions yet, so they are not listed."


def inspection(
    state: ThreadState,
    policy: Policy,
    sent: Sequence[bytes],
    *,
    predicted: bool,
    switched: bool = False,
) -> ContextInspection:
    """Returns the model's next input by item and class; `sent` are its raw items
    (`core/context/inspection.py`). `predicted` says that Codex's own items are those of the session
    before, and `switched` that the last turn ran with another model.
    """
    items, status = inspect_context(state, sent), context_status(state, policy)
    estimated, window = sum(item.tokens for item in items), status.window_tokens
    beginning = PREDICTED if predicted else "" if items else UNKNOWN
    notes = [beginning, SWITCHED if switched else "", status.note or ""]
    return ContextInspection(
        thread_id=state.id,
        items=[_shown(index, item, window) for index, item in enumerate(items)],
        totals=list(_totals(items, window)),
        estimated_tokens=estimated,
        used_tokens=status.used_tokens,
        estimated=status.estimated,
        overhead_tokens=status.used_tokens - estimated,
        window_tokens=window,
        percent=status.percent,
        level=status.level,
        predicted=predicted,
        note=" ".join(filter(None, notes)) or None,
    )


def inspection_text(found: ContextInspection, advice: ContextAdvice) -> str:
    """Returns the inspection as text: a bar for each class, the largest items, and the suggested
    trims.
    """
    return "\n".join(_lines(found, advice))


def _lines(found: ContextInspection, advice: ContextAdvice) -> Iterator[str]:
    about = "about " if found.estimated else ""
    of_window = f" of {found.window_tokens:,}" if found.window_tokens is not None else ""
    percent = f" ({percent_text(found.percent)})" if found.percent is not None else ""
    yield f"Context: {about}{found.used_tokens:,}{of_window} tokens{percent}."
    whole = max(found.used_tokens, found.estimated_tokens, 1)
    for total in found.totals:
        yield _bar(class_name(total.item_class), total.est_tokens, whole)
    if found.overhead_tokens > 0:
        yield _bar(REST, found.overhead_tokens, whole)
    largest = sorted(found.items, key=lambda item: -item.est_tokens)[:LARGEST]
    if largest:
        yield f"The {len(largest)} largest:"
    for item in largest:
        place = item.short_id or "–"
        yield f"  {item.est_tokens:>8,}  {place:<8} {class_text(item)}: {item.preview}"
    yield from (one.text for one in advice.advice)
    if found.note is not None:
        yield found.note


def class_name(item_class: str) -> str:
    """Returns the name of a class for a person, such as `tool result`."""
    return re.sub(r"([A-Z])", lambda capital: f" {capital[1].lower()}", item_class)


def class_text(item: InspectedItem) -> str:
    """Returns the class of an item; where it holds parts of several, each with its tokens, as the
    bars count them.
    """
    if not item.parts:
        return class_name(item.item_class)
    parts = sorted(item.parts.items(), key=lambda part: -part[1])
    return ", ".join(f"{class_name(name)} {tokens:,}" for name, tokens in parts)


def _bar(name: str, tokens: int, whole: int) -> str:
    filled = min(BAR_CELLS, round(tokens * BAR_CELLS / whole))
    bar = "█" * filled + "░" * (BAR_CELLS - filled)
    return f"  {name:<12} {bar} {tokens:>8,}"


def _shown(index: int, item: Item, window: int | None) -> InspectedItem:
    return InspectedItem(
        index=index,
        item_class=item.item_class.value,
        turn_id=item.turn_id,
        entry_id=item.entry_id,
        short_id=item.short_id,
        role=item.role,
        preview=item.preview,
        est_tokens=item.tokens,
        share=_share(item.tokens, window),
        protected=item.protected,
        pinned=item.is_pinned,
        parts=_parts(item),
    )


def _parts(item: Item) -> dict[str, int] | None:
    parts = {name.value: tokens for name, tokens in item.tokens_by_class}
    return parts if len(parts) > 1 else None


def _totals(items: Sequence[Item], window: int | None) -> Iterator[ClassTotal]:
    """Yields the total of each class that occurs, in the order of `ItemClass`. The totals cover all
    items.
    """
    for item_class in ItemClass:
        parts = [
            tokens for item in items for name, tokens in item.tokens_by_class if name is item_class
        ]
        if parts:
            yield ClassTotal(
                item_class=item_class.value,
                count=sum(item.item_class is item_class for item in items),
                est_tokens=sum(parts),
                share=_share(sum(parts), window),
            )


def _share(tokens: int, window: int | None) -> float | None:
    return None if window is None else round(tokens / window, 4)
