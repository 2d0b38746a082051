"""What discards take out of a turn's raw items, and what they mask: the output of a tool call, or
the images of a message, replaced by one line in what the model is sent (docs/spec/context.md).

The call, the reasoning and all ids stay. A placeholder is made of the raw item and of what the
event records, so it is the same text each time that a session is given its context.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.model.ledger import Discard
from trimpoint.core.model.tokens import estimate_tokens

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
IMAGES = frozenset({"input_image", "image"})


def discarded_positions(turn_id: str, discards: Sequence[Discard]) -> frozenset[int]:
    """Returns the positions of the turn's raw items that `discards` removed."""
    return frozenset(
        position for discard in discards for position in discard.positions.get(turn_id, ())
    )


def masks_of(turn_id: str, discards: Iterable[Discard]) -> dict[int, str]:
    """Returns the positions of the turn's masked raw items, each with the id by which the agent can
    read the item in the history; the id is empty if the agent cannot.
    """
    masks: dict[int, str] = {}
    for discard in discards:
        masks.update(discard.masks.get(turn_id, {}))
    return masks


def masked_item(raw: bytes, history_id: str | None) -> bytes:
    """Returns the raw item with a placeholder for its output or its images; an item that has
    neither, or is not masked (None), is returned unchanged.
    """
    if history_id is None:
        return raw
    item: dict[str, Any] = msgspec.json.decode(raw)
    return _masked(item, history_id, estimate_tokens(raw)) if _can_be_masked(item) else raw


def freed_by_masks(items: Sequence[bytes], named: Mapping[int, str]) -> dict[int, int]:
    """Returns the positions that a mask makes smaller, each with the number of estimated tokens by
    which it does. `named` are positions with the ids that their placeholders have.
    """
    freed: dict[int, int] = {}
    for at, name in named.items():
        item: dict[str, Any] = msgspec.json.decode(items[at])
        if _can_be_masked(item):
            tokens = estimate_tokens(items[at])
            freed[at] = tokens - estimate_tokens(_masked(item, name, tokens))
    return {at: tokens for at, tokens in freed.items() if tokens > 0}


def _can_be_masked(item: dict[str, Any]) -> bool:
    return item.get("type") in OUTPUTS or any(map(_is_image, as_list(item.get("content"))))


def _masked(item: dict[str, Any], history_id: str, tokens: int) -> bytes:
    if item.get("type") in OUTPUTS:
        text = output_placeholder(tokens, history_id)
        return msgspec.json.encode({**item, "output": text})
    text = _placeholder("image", history_id)
    parts = as_list(item.get("content"))
    shown = [{"type": "input_text", "text": text} if _is_image(part) else part for part in parts]
    return msgspec.json.encode({**item, "content": shown})


def output_placeholder(tokens: int, history_id: str = "") -> str:
    """Returns the text in the place of an output of so many tokens."""
    return _placeholder(f"output of {tokens:,} tokens", history_id)


def _is_image(part: object) -> bool:
    return as_dict(part).get("type") in IMAGES


def _placeholder(what: str, history_id: str) -> str:
    where = f"; read_history {history_id} has it" if history_id else ""
    return f"[{what} left the context{where}]"
