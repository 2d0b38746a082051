"""The walker: where the oldest part of a context may be cut off from the rest
(docs/spec/context.md).

Always true: what follows a cut must stand by itself in front of a model, and what comes before it
must read as an exchange that had come to rest. So a cut is only ever made right behind an
assistant's message, never between a tool call and its result, and never between a reasoning item
and what came of it.
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
    """Returns how many of the oldest `items` to cut off, or None if no cut is valid.

    `items` are raw items in order and `tokens` what each of them costs. As much as fits into
    `oldest_share` of all tokens is cut off, and at least `min_messages` prompts and answers and
    `min_items` items, even if that takes more. Everything may be cut off, if nothing else is
    possible.
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
    """Yields the positions after an answer where a cut separates no call from its result, and no
    reasoning from what followed from it.
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
    """Position of a call -> position of its result. Ids are used again by some providers, so a
    result answers the call before it.
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
    """Returns whether the item at `at` belongs to the reasoning before it."""
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
