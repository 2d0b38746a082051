"""Finds where the oldest part of a context may be cut off (docs/spec/context.md).

The part after a cut must be valid input for a model on its own, and the part before it must read as
a finished exchange. Therefore a cut is only made directly after an assistant's message, never
between a tool call and its result, and never between reasoning and the items that follow from it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trimpoint.core.context.active_context import call_id, is_call, is_output

OLDEST_SHARE = 0.75
MIN_MESSAGES = 10


def find_split(
    items: Sequence[bytes],
    tokens: Sequence[int],
    *,
    oldest_share: float = OLDEST_SHARE,
    min_messages: int = MIN_MESSAGES,
    min_items: int = 0,
) -> int | None:
    """Returns the number of oldest `items` to cut off, or None if no cut is valid.

    `items` are raw items in order, and `tokens` are their sizes. The cut takes as many items as fit
    into `oldest_share` of all tokens, but at least `min_messages` messages and `min_items` items
    even if these are larger. If no other cut is valid, it may take all items.
    """
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    budget = oldest_share * sum(tokens)
    chosen: int | None = None
    messages = taken = 0
    parts_well = set(_split_candidates(decoded))
    for position, (item, cost) in enumerate(zip(decoded, tokens, strict=True), 1):
        messages += is_message(item)
        taken += cost
        if taken > budget and chosen is not None:
            break
        if position in parts_well and messages >= min_messages and position >= min_items:
            chosen = position
    return chosen


def _split_candidates(items: Sequence[dict[str, Any]]) -> Iterator[int]:
    """Yields the positions directly after an answer where a cut separates no call from its result
    and no reasoning from the items that follow from it.
    """
    answered_at = _answers(items)
    settled_after = -1  # the last result of all calls so far
    thinking = False
    for at, item in enumerate(items):
        settled_after = max(settled_after, answered_at.get(at, -1))
        thinking = _is_reasoning(item) or (thinking and _is_output_of_model(item))
        if (
            _is_answer(item)
            and settled_after <= at
            and not (thinking and _continues(items, at + 1))
        ):
            yield at + 1


def _answers(items: Sequence[dict[str, Any]]) -> dict[int, int]:
    """Returns the position of each call's result by the position of the call. Some providers use
    ids again, so a result belongs to the last open call with its id.
    """
    waiting: dict[Any, list[int]] = {}
    answered_at: dict[int, int] = {}
    for at, item in enumerate(items):
        if is_call(item):
            waiting.setdefault(call_id(item), []).append(at)
        elif is_output(item) and waiting.get(call_id(item)):
            answered_at[waiting[call_id(item)].pop()] = at
    return answered_at


def _continues(items: Sequence[dict[str, Any]], at: int) -> bool:
    """Returns whether the item at `at` follows from the reasoning before it."""
    return at < len(items) and _is_output_of_model(items[at]) and not _is_reasoning(items[at])


def _is_output_of_model(item: dict[str, Any]) -> bool:
    return _is_answer(item) or _is_reasoning(item) or str(item.get("type", "")).endswith("_call")


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get("type") == "message" and item.get("role") == "assistant"


def _is_reasoning(item: dict[str, Any]) -> bool:
    return item.get("type") == "reasoning"


def is_message(item: dict[str, Any]) -> bool:
    """Returns whether the item is a prompt or an answer."""
    return item.get("type") == "message" and item.get("role") in ("user", "assistant")
