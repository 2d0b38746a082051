"""How many tokens an item is likely to cost, without a tokenizer.

The law: an estimate, never a count. What Codex reports goes before it wherever both are known.

No tokenizer fits. Those with their vocabulary inside the package take more than twice the memory
that the whole daemon may take (measured: 144 MiB for o200k); the others fetch it from the network.
So text is cut by kinds of characters about where o200k cuts it, and the pieces are weighed. The
weights are a least-squares fit against o200k. The error, measured on text that was not part of the
fit, in pieces of 4,000 characters (docs/token-estimates.md): on average 5 % for English prose,
Markdown, JSON, diffs and logs, up to 12 % for source code, other languages and base64; 36 % at
worst. Four characters to a token would be off by 25 % to 60 % on most of them.
"""

import re
from typing import Any, Final

import msgspec

from trimpoint.core.model.lenient import as_dict, as_list

IMAGE_TOKENS: Final = 1_500
"""One image. What it costs depends on its size and the model, between some hundred and some
thousand; nothing offline can tell.
"""
ITEM_TOKENS: Final = 4
"""What separates an item from the next."""
# Sealed content is base64 around an envelope; what is inside is taken for text of four bytes to a
# token. Nothing can check that.
_SEALED_ENVELOPE_BYTES = 650
_SEALED_BYTES_PER_TOKEN = 4

# Members that say what an item is or whose it is; the model is shown them as part of the framing,
# or not at all.
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
    """A letter for each byte: a lower case, A upper case, d digit, n blank but a space, s space, x
    not ASCII, . all others.
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
# (pattern over kinds, weight): each place where the pattern is found, none overlapping, adds its
# weight.
_WEIGHTS: tuple[tuple[bytes, float], ...] = (
    # A word begins; one that begins with a capital was counted there.
    *((before + b"a", 0.906) for before in (b"d", b"n", b"s", b"x", b".")),
    *((before + b"A", 0.906) for before in (b"d", b"n", b"s", b"x", b".")),
    (b"aA", 0.906 + 0.617),  # fooBar
    (b"aaaaaaa", 1.283),
    # A number begins; in hex and base64 it does so within a word.
    *((before + b"d", 1.711) for before in (b"n", b"s", b"x", b".")),
    (b"ad", 1.711 - 0.372),
    (b"da", -0.372),
    (b"Ad", 1.711 + 0.368),
    (b"dA", 0.368),
    (b"ddd", 1.04),
    *((before + b".", 0.471) for before in (b"a", b"A", b"d", b"n", b"s", b"x")),
    (b"...", 0.308),
    *((before + b"n", 1.538) for before in (b"a", b"A", b"d", b"s", b"x", b".")),
    (b"ss", 0.076),
)
# (characters, weight of one); the first that fits counts.
_FOREIGN_WEIGHTS: tuple[tuple[re.Pattern[str], float], ...] = (
    (
        re.compile("[\\u2e80-\\ua4cf\\uf900-\\ufaff\\uff00-\\uffef\\U00020000-\\U0003ffff]"),
        0.772,
    ),  # Chinese, Japanese
    (re.compile("[\\u1100-\\u11ff\\uac00-\\ud7ff]"), 0.758),  # Korean
    (re.compile("[\\u0080-\\u10ff\\u1200-\\u2e7f]"), 0.324),  # alphabets
)
_OTHER_WEIGHT = 2.0  # emoji and what is rarer still


def estimate_tokens(item: bytes) -> int:
    """Tokens of one raw Responses item (JSON), at least `ITEM_TOKENS`.

    Images cost `IMAGE_TOKENS` each whatever their bytes; sealed content is judged by its length.
    """
    return ITEM_TOKENS + round(_weigh(msgspec.json.decode(item)))


def estimate_text_tokens(text: str) -> int:
    """Tokens of plain text; 0 for none, else at least 1."""
    return max(1, round(_weigh_text(text))) if text else 0


def _weigh(value: Any) -> float:
    if isinstance(value, str):
        return _weigh_text(value)
    if isinstance(value, list):
        return sum(_weigh(row) for row in as_list(value))
    if not isinstance(value, dict):
        return float(value is not None)
    item = as_dict(value)
    if item.get("type") in _IMAGES:
        return IMAGE_TOKENS
    return sum(_weigh_member(name, member) for name, member in item.items() if name not in _FRAMING)


def _weigh_member(name: str, value: Any) -> float:
    if name == "encrypted_content":
        sealed_bytes = len(value or "") * 3 / 4 - _SEALED_ENVELOPE_BYTES
        return max(0.0, sealed_bytes / _SEALED_BYTES_PER_TOKEN)
    return _weigh(value)


def _weigh_text(text: str) -> float:
    weight, ascii_text = 0.0, text
    if not text.isascii():
        weight = _weigh_foreign("".join(_NOT_ASCII.findall(text)))
        ascii_text = _NOT_ASCII.sub(_FOREIGN.decode(), text)
    # One line break is put before it, so that what stands first begins too.
    kinds = b"n" + ascii_text.encode().translate(_KINDS)
    return weight + sum(kinds.count(pattern) * each for pattern, each in _WEIGHTS)


def _weigh_foreign(text: str) -> float:
    weight, left = 0.0, len(text)
    for pattern, each in _FOREIGN_WEIGHTS:
        found = len(pattern.findall(text))
        weight, left = weight + found * each, left - found
    return weight + left * _OTHER_WEIGHT
