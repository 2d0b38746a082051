"""Reads as much of a large input as is needed to see whether it is a command.

The rest is never decoded: it is passed on as it came, or refused.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.gateway.session.requests.errors import Refusal

HEAD_BYTES = 256 * 1024
"""How much text is read. No command is so long (`slash.MAX_ARGUMENT_CHARS`)."""

MAX_PARTS = 10_000
MAX_BESIDE_BYTES = 1024 * 1024
"""All members of all parts but texts and URLs, which hold images."""

_CONTENT = frozenset({"text", "url"})
_decode_parts = msgspec.json.Decoder(list[dict[str, Raw]]).decode
# The longest way to write one character is an escaped surrogate pair.
_CHARACTER_BYTES = 12


class Head(NamedTuple):
    """The beginning of an input: all its parts, with the first `HEAD_BYTES` of their texts and
    without images. `is_cut`: there is more text.
    """

    parts: list[dict[str, Any]]
    is_cut: bool


def read_head(turn_input: Raw) -> Head:
    """Returns the beginning of an input.

    :raises Refusal: when it is no list of objects, or one that is too large for anything to read;
        Codex would repeat much of it in its error.
    """
    try:
        given = _decode_parts(turn_input)
    except msgspec.ValidationError as error:
        raise Refusal(Reason.INVALID_PARAMS, f"`input` is invalid: {error}.") from error
    if len(given) > MAX_PARTS:
        problem = f"`input` has more than {MAX_PARTS:,} parts; nothing was sent to the agent."
        raise Refusal(Reason.INVALID_PARAMS, problem)
    beside = sum(len(text) for part in given for name, text in part.items() if name not in _CONTENT)
    if beside > MAX_BESIDE_BYTES:
        problem = f"`input` has more than {MAX_BESIDE_BYTES:,} bytes beside texts and images."
        raise Refusal(Reason.INVALID_PARAMS, f"{problem} Nothing was sent to the agent.")
    return _cut(given)


def _cut(given: list[dict[str, Raw]]) -> Head:
    left, is_cut, parts = HEAD_BYTES, False, list[dict[str, Any]]()
    for part in given:
        shown = {
            name: msgspec.json.decode(text) for name, text in part.items() if name not in _CONTENT
        }
        text = part.get("text")
        if text is not None:
            shown["text"] = _decoded_head(text, left)
            is_cut |= len(text) > left
            left = max(0, left - len(text))
        parts.append(shown)
    if is_cut and not any(map(_has_words, parts)):
        problem = f"The prompt begins with more than {HEAD_BYTES // 2:,} blank characters."
        raise Refusal(Reason.INVALID_PARAMS, f"{problem} Nothing was sent to the agent.")
    return Head(parts, is_cut)


def _decoded_head(text: Raw, size: int) -> Any:
    """Returns a member that is no longer than `size`, or the beginning of a longer text."""
    if len(text) <= size:
        return msgspec.json.decode(text)
    if memoryview(text)[0] != ord('"'):
        raise Refusal(Reason.INVALID_PARAMS, "`text` is no text; nothing was sent to the agent.")
    for end in range(size, max(0, size - _CHARACTER_BYTES), -1):
        try:
            return msgspec.json.decode(bytes(memoryview(text)[:end]) + b'"')
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # it ends within a character
    return ""


def _has_words(part: dict[str, Any]) -> bool:
    text = part.get("text")
    return isinstance(text, str) and bool(text) and not text.isspace()
