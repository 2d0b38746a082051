"""Estimates the tokens of raw items and text without a tokenizer.

The result is always an estimate. Where Codex reports a number, that number is used instead.

No tokenizer is usable here. Those that contain their vocabulary need more than twice the memory
that the whole daemon may use (measured: 144 MiB for o200k), and the others fetch it from the
network. Therefore text is cut by kinds of characters at about the places where o200k cuts it, and
each kind of piece has a weight. The weights are a least-squares fit against o200k
(`scripts/fit-tokens`). The error was measured on text that was not part of the fit, in pieces of
4,000 characters (docs/token-estimates.md). It is on average under 5 % for English prose, Markdown,
Python, JSON and diffs, up to 11 % for other code, logs and languages, and 30 % at worst. Counting
four characters as a token would be wrong by up to 63 %.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec

from trimpoint.core.model.lenient import as_dict, as_list, as_text

IMAGE_TOKENS: Final = 1_500
"""The estimate for one image. The true cost is between some hundred and some thousand tokens; it
depends on the image's size and the model and cannot be known offline.
"""
ITEM_TOKENS: Final = 4
"""The tokens that separate one item from the next."""
SAMPLED_CHARS: Final = 128 * 1024
"""A longer text is estimated from pieces of it that are spread evenly and have this length
together, because a megabyte takes 50 ms otherwise.
"""
_PIECE_CHARS = 4 * 1024
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


def _kinds() -> bytes:
    """Returns a table of 256 bytes that maps each byte to a letter for its kind: `a` lower case,
    `A` upper case, `d` digit, `s` space, `n` other white space, `x` not ASCII, `.` all others.
    """
    kinds = bytearray(b"." * 256)
    of = {
        b"a": b"abcdefghijklmnopqrstuvwxyz",
        b"A": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"d": b"0123456789",
        b"n": b"\t\n\v\f\r",
        b"s": b" ",
    }
    for kind, characters in of.items():
        for character in characters:
            kinds[character] = kind[0]
    kinds[_FOREIGN[0]] = ord("x")
    return bytes(kinds)


_FOREIGN = b"\0"  # stands for a run of characters that are not ASCII
_KINDS = _kinds()
_NOT_ASCII = re.compile("[^\\x00-\\x7f]+")


class Feature(NamedTuple):
    """A kind of place in text with its weight in tokens.

    Each place that matches one of the patterns adds the weight. The patterns are over kinds of
    characters (`split_by_kind`), and matches do not overlap.
    """

    name: str
    weight: float
    patterns: tuple[bytes, ...]


class Script(NamedTuple):
    """A group of characters outside ASCII, and the weight of one character in tokens."""

    name: str
    weight: float
    characters: re.Pattern[str]


def _before(kind: bytes, others: bytes) -> tuple[bytes, ...]:
    return tuple(bytes((other,)) + kind for other in others)


# The weights are those that `benchmarks/studies/token_fit.py` finds.
FEATURES: Final = (
    # A word that begins with a capital is counted at the capital.
    Feature("word", 1.009, (*_before(b"a", b"dnsx."), *_before(b"A", b"dnsx."), b"aA")),
    Feature("capital within a word", 0.216, (b"aA",)),
    Feature("seven more letters", 0.419, (b"aaaaaaa",)),
    # In hexadecimal and base64, numbers begin within words.
    Feature("number", 0.758, (*_before(b"d", b"nsx."), b"ad", b"Ad")),
    Feature("number among lower case", 0.006, (b"ad", b"da")),
    Feature("number among capitals", 1.336, (b"Ad", b"dA")),
    Feature("three more digits", 1.220, (b"ddd",)),
    Feature("punctuation", 0.877, _before(b".", b"aAdnsx")),
    Feature("three more of punctuation", 0.093, (b"...",)),
    Feature("line break", 0.415, _before(b"n", b"aAdsx.")),
    Feature("two blanks", 0.096, (b"ss",)),
)
# A character counts for the first script that contains it.
SCRIPTS: Final = (
    Script(
        "Chinese, Japanese",
        0.621,
        re.compile("[\\u2e80-\\ua4cf\\uf900-\\ufaff\\uff00-\\uffef\\U00020000-\\U0003ffff]"),
    ),
    Script("Korean", 0.644, re.compile("[\\u1100-\\u11ff\\uac00-\\ud7ff]")),
    Script("alphabets", 0.286, re.compile("[\\u0080-\\u10ff\\u1200-\\u2e7f]")),
)
OTHER_WEIGHT: Final = 2.0
"""The weight in tokens of a character that is in no script above, such as an emoji."""


def _summed() -> tuple[tuple[bytes, float], ...]:
    """Returns each pattern with the sum of its weights, so that a text is searched for a pattern
    only once.
    """
    sums: dict[bytes, float] = {}
    for feature in FEATURES:
        for pattern in feature.patterns:
            sums[pattern] = sums.get(pattern, 0.0) + feature.weight
    return tuple(sums.items())


_WEIGHTS = _summed()


def estimate_tokens(item: bytes) -> int:
    """Returns the estimated tokens of one raw item (JSON), at least `ITEM_TOKENS`.

    An image counts as `IMAGE_TOKENS` whatever its size; sealed content is estimated from its
    length.
    """
    return ITEM_TOKENS + round(_weigh(msgspec.json.decode(item)))


def estimate_text_tokens(text: str) -> int:
    """Returns the estimated tokens of plain text: 0 if it is empty, else at least 1."""
    return max(1, round(_weigh_text(text))) if text else 0


def _weigh(value: Any) -> float:
    if isinstance(value, str):
        return _weigh_text(value)
    if isinstance(value, list):
        return sum(_weigh(row) for row in as_list(value))
    if not isinstance(value, dict):
        return float(value is not None)
    item = as_dict(value)
    if as_text(item.get("type")) in _IMAGES:
        return IMAGE_TOKENS
    return sum(_weigh_member(name, member) for name, member in item.items() if name not in _FRAMING)


def _weigh_member(name: str, value: Any) -> float:
    if name == "encrypted_content":
        sealed_bytes = len(as_text(value)) * 3 / 4 - _SEALED_ENVELOPE_BYTES
        return max(0.0, sealed_bytes / _SEALED_BYTES_PER_TOKEN)
    return _weigh(value)


def _weigh_text(text: str) -> float:
    if len(text) > SAMPLED_CHARS:
        return _weigh_text(_sample(text)) * (len(text) / SAMPLED_CHARS)
    kinds, foreign = split_by_kind(text)
    weight = _weigh_foreign(foreign) if foreign else 0.0
    return weight + sum(kinds.count(pattern) * each for pattern, each in _WEIGHTS)


def _sample(text: str) -> str:
    pieces = SAMPLED_CHARS // _PIECE_CHARS
    starts = (len(text) * number // pieces for number in range(pieces))
    return "".join(text[start : start + _PIECE_CHARS] for start in starts)


def split_by_kind(text: str) -> tuple[bytes, str]:
    """Returns the kinds of the text's characters, one letter each, and all its characters outside
    ASCII.

    In the first value a run of characters outside ASCII is one letter. A line break is added before
    the text, so that patterns for the start of a word match there too.
    """
    if text.isascii():
        return b"n" + text.encode().translate(_KINDS), ""
    foreign = "".join(_NOT_ASCII.findall(text))
    ascii_text = _NOT_ASCII.sub(_FOREIGN.decode(), text)
    return b"n" + ascii_text.encode().translate(_KINDS), foreign


def _weigh_foreign(text: str) -> float:
    weight, left = 0.0, len(text)
    for script in SCRIPTS:
        found = len(script.characters.findall(text))
        weight, left = weight + found * script.weight, left - found
    return weight + left * OTHER_WEIGHT
