"""Counts the depth and the values of JSON, without building any of it.

Always true: whatever the bytes are, each step looks at `STEP_BYTES` of them at most, so that a
reader can return control to the event loop in between. Inside a string only its end is searched
for, and a bomb is refused in the first step.
"""

from array import array
from collections.abc import Generator
from itertools import accumulate
from typing import NamedTuple, TypeVar

__all__ = [
    "STEP_BYTES",
    "Extent",
    "finished",
    "measure",
]

T = TypeVar("T")

STEP_BYTES = 1024 * 1024
"""What is looked at without a pause."""
_CHUNK = 64 * 1024
_CHUNKS_PER_STEP = STEP_BYTES // _CHUNK
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
_ALL_BUT_STRUCTURE = bytes(set(range(256)) - set(b",[]{}"))


class Extent(NamedTuple):
    """How much valid JSON holds; what is not JSON has any extent."""

    values: int
    """Commas and opening brackets outside strings. A reader pays for each of them, some hundred
    times what it pays for a byte of a string.
    """
    levels: int
    """The most arrays and objects around anything."""


def finished(steps: Generator[None, None, T]) -> T:
    """Takes all steps at once and returns what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def measure(text: bytes, max_values: int) -> Generator[None, None, Extent]:
    """Returns the extent of JSON text, in steps. It stops where there are more than `max_values`,
    whose depth no one needs.
    """
    values = depth = levels = chunks = start = 0
    is_in_string = False
    while start < len(text) and values <= max_values:
        chunk = _whole_escapes(text, start)
        start += len(chunk)
        chunks += 1
        if chunks % _CHUNKS_PER_STEP == 0:
            yield
        if is_in_string and b'"' not in chunk:
            continue
        pieces = chunk.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(pieces[is_in_string::2])
        is_in_string ^= len(pieces) % 2 == 0
        structure = outside.translate(None, _ALL_BUT_STRUCTURE)
        brackets = structure.translate(_STEPS, b",")
        values += len(structure) - brackets.count(b"\xff")
        if brackets:
            levels = max(levels, *accumulate(array("b", brackets), initial=depth))
            depth += 2 * brackets.count(b"\x01") - len(brackets)
    return Extent(values, levels)


def _whole_escapes(text: bytes, start: int) -> bytes:
    """Returns the chunk that begins there, one byte longer where that is the rest of an escape."""
    chunk = text[start : start + _CHUNK]
    backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
    return text[start : start + _CHUNK + 1] if backslashes % 2 else chunk
