"""How deep JSON is nested and how many values it holds, without building any of it.

Law: whatever the bytes are, the answer takes no longer than reading them does. Most messages have
fewer brackets than levels are allowed; of the others only the brackets are walked, and a bomb is
given up in its first chunk. To be asked for the depth only where the number of values is bounded.
"""

from array import array
from itertools import accumulate

__all__ = [
    "holds_more_values",
    "nests_deeper",
]

_CHUNK = 64 * 1024
_FIRST_BYTES = 1024 * 1024
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def nests_deeper(text: bytes, levels: int) -> bool:
    """Returns whether valid JSON has more than `levels` arrays and objects around anything. What
    is not JSON gets any answer.
    """
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    steps = array("b", _outside_strings(text).translate(_STEPS, _ALL_BUT_BRACKETS))
    for start in range(0, len(steps), _CHUNK):
        chunk = steps[start : start + _CHUNK]
        if max(accumulate(chunk, initial=depth)) > levels:
            return True
        depth += sum(chunk)
    return False


def holds_more_values(text: bytes, limit: int) -> bool:
    """Returns whether valid JSON has more than `limit` commas and opening brackets outside its
    strings.

    A reader pays for each of them, some hundred times what it pays for a byte of a string. What is
    not JSON gets any answer.
    """
    if len(text) <= limit:
        return False
    # A bomb shows itself at once.
    return _holds_more(text[:_FIRST_BYTES], limit) or (
        len(text) > _FIRST_BYTES and _holds_more(text, limit)
    )


def _holds_more(text: bytes, limit: int) -> bool:
    if _count_values(text) <= limit:
        return False
    without_escapes = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Each string outside the limit costs a comma too, and so many pieces are not made only to be
    # counted.
    if without_escapes.count(b'"') > 4 * limit + 2:
        return True
    return _count_values(b"".join(without_escapes.split(b'"')[::2])) > limit


def _count_values(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _outside_strings(text: bytes) -> bytes:
    without_escapes = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(without_escapes.split(b'"')[::2])
