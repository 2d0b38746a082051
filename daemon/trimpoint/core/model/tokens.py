"""Estimates the tokens of raw items and text without a tokenizer.

The result is always an estimate. Where Codex reports a number, that number is used instead.

No tokenizer is usable here. Those that contain their vocabulary need more than twice the memory
that the whole daemon may use (measured: 144 MiB for o200k), and the others fetch it from the
network. Therefore text is cut by kinds of characters at about the places where o200k cuts it, and
each kind of piece has a weight (`text_weight`). The weights are a least-squares fit against o200k
(`scripts/fit-tokens`). The error was measured on text that was not part of the fit, in pieces of
4,000 characters (docs/internals/token-estimates.md). It is on average under 5 % for English prose,
Markdown, Python, JSON and diffs, up to 11 % for other code, logs and languages, and 30 % at worst.
Counting four characters as a token would be wrong by up to 63 %.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list, as_text

from trimpoint.core.model.text_weight import BOUNDARY, weigh_text

IMAGE_TOKENS: Final = 1_500
"""The estimate for one image. The true cost is between some hundred and some thousand tokens; it
depends on the image's size and the model and cannot be known offline.
"""
ITEM_TOKENS: Final = 4
"""The tokens that separate one item from the next."""
SAMPLED_CHARS: Final = 128 * 1024
"""Longer texts of one item are estimated from pieces of them that are spread evenly and have this
length together. Weighing takes up to 40 ns a character.
"""
SAMPLED_TOTAL_CHARS: Final = 512 * 1024
"""The same for the texts of many items whose sum is wanted. 16 MiB would take half a second."""
_ITEMS_AT_ONCE = 1_000
# A context is weighed again for each command, preview and meter, and is nearly the same each time:
# the estimates of so many items are remembered, at most 8 MiB of them.
_REMEMBERED, _SHORT_BYTES = 8_192, 1_024
# Sealed content is base64 of an envelope with encrypted text. Four bytes of that text are counted
# as a token, which is an assumption.
_SEALED_ENVELOPE_BYTES = 650
_SEALED_BYTES_PER_TOKEN = 4

# Members with an item's type or owner, which the model sees as part of the framing or not at all.
_FRAMING = frozenset(
    {
        "type",
        "id",
        "call_id",
        "role",
        "status",
        "phase",
        "end_turn",
        "detail",
        "execution",
        "internal_chat_message_metadata_passthrough",
    }
)
_IMAGES = frozenset({"input_image", "image", "image_generation_call"})


def estimate_tokens(item: bytes) -> int:
    """Returns the estimated tokens of one raw item (JSON), at least `ITEM_TOKENS`.

    An image counts as `IMAGE_TOKENS` whatever its size; sealed content is estimated from its
    length.
    """
    return _tokens_of_short(item) if len(item) <= _SHORT_BYTES else _tokens_of(item)


def estimate_total(items: Iterable[bytes]) -> int:
    """Returns the estimated tokens of many raw items: the sum of `estimate_tokens`, unless they are
    so large that the sum is estimated from pieces of their texts.
    """
    items = list(items)
    size = sum(map(len, items))
    if size <= SAMPLED_TOTAL_CHARS:
        return sum(map(estimate_tokens, items))
    # Of each run of items, as much is weighed as it has of the whole. All texts at once would let
    # no other thread run while they are joined and freed.
    runs = [items[start : start + _ITEMS_AT_ONCE] for start in range(0, len(items), _ITEMS_AT_ONCE)]
    weights = (_weigh(run, SAMPLED_TOTAL_CHARS * sum(map(len, run)) // size) for run in runs)
    return len(items) * ITEM_TOKENS + round(sum(weights))


def estimate_text_tokens(text: str) -> int:
    """Returns the estimated tokens of plain text: 0 if it is empty, else at least 1."""
    return max(1, round(weigh_text(text, SAMPLED_CHARS))) if text else 0


def short_count(count: int) -> str:
    """Returns a number of tokens rounded for people: 812, 9.4k, 258k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size - size // 2_000:
            scaled = count / size
            return (
                f"{scaled:.0f}{unit}"
                if scaled >= 99.95
                else f"{scaled:.1f}".removesuffix(".0") + unit
            )
    return str(count)


def _tokens_of(item: bytes) -> int:
    return ITEM_TOKENS + round(_weigh([item], SAMPLED_CHARS))


_tokens_of_short = lru_cache(_REMEMBERED)(_tokens_of)


def _weigh(items: list[bytes], sampled_chars: int) -> float:
    texts: list[str] = []
    weight = sum(_take_texts(msgspec.json.decode(item), texts) for item in items)
    return weight + weigh_text(BOUNDARY.join(texts), sampled_chars)


def _take_texts(value: Any, texts: list[str]) -> float:
    """Adds all texts in a value to `texts`, and returns the tokens of everything else."""
    if isinstance(value, str):
        texts.append(value)
        return 0.0
    if isinstance(value, list):
        return sum(_take_texts(row, texts) for row in as_list(value))
    if not isinstance(value, dict):
        return float(value is not None)
    item = as_dict(value)
    if as_text(item.get("type")) in _IMAGES:
        return IMAGE_TOKENS
    weight = 0.0
    for name, member in item.items():
        if name == "encrypted_content":
            weight += _sealed_tokens(as_text(member))
        elif name not in _FRAMING:
            weight += _take_texts(member, texts)
    return weight


def _sealed_tokens(content: str) -> float:
    sealed_bytes = len(content) * 3 / 4 - _SEALED_ENVELOPE_BYTES
    return max(0.0, sealed_bytes / _SEALED_BYTES_PER_TOKEN)
