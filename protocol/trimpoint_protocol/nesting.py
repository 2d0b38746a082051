"""How deep JSON is nested, without building any of it.

Law: whatever the bytes are, the answer takes no longer than reading them does. Most messages have fewer brackets than levels are
allowed; of the others only the brackets are walked, and a bomb is given up in its first chunk.
"""

from array import array
from itertools import accumulate

_CHUNK = 64 * 1024
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def nests_deeper(text: bytes, levels: int) -> bool:
    """Whether valid JSON has more than ``levels`` arrays and objects around anything. What is not JSON gets any answer."""
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


def _outside_strings(text: bytes) -> bytes:
    without_escapes = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(without_escapes.split(b'"')[::2])
