"""Measures the depth and the number of values and escapes of JSON text without decoding it.

Always true: each step examines at most `STEP_BYTES` bytes, so that a reader can return control to
the event loop between steps. Inside a string only the end is searched for. Excessive nesting is
detected in the first step.
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
    """The number of values and of levels of valid JSON text; arbitrary for other text."""

    values: int
    """Commas and opening brackets outside strings. A reader pays for each of them, some hundred
    times what it pays for a byte of a string.
    """
    levels: int
    """The most arrays and objects around anything."""
    escapes: int = 0
    """Backslashes. A reader pays for each of them several times what it pays for another byte."""


def finished(steps: Generator[None, None, T]) -> T:
    """Runs all steps of a generator and returns its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def measure(text: bytes, max_values: int, max_escapes: int) -> Generator[None, None, Extent]:
    """Measures JSON text in steps and returns its extent. Stops when there are more than
    `max_values` values or `max_escapes` escapes; the rest is then not complete.
    """
    values = depth = levels = escapes = chunks = start = 0
    is_in_string = False
    while start < len(text) and values <= max_values and escapes <= max_escapes:
        chunk = _whole_escapes(text, start)
        escapes += chunk.count(b"\\")
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
    return Extent(values, levels, escapes)


def _whole_escapes(text: bytes, start: int) -> bytes:
    """Returns the chunk that begins at `start`, one byte longer if it would end within an escape
    sequence.
    """
    chunk = text[start : start + _CHUNK]
    backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
    return text[start : start + _CHUNK + 1] if backslashes % 2 else chunk
