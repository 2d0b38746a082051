"""Checks whether bytes are UTF-8, in steps."""

import codecs
from collections.abc import Generator

from trimpoint_protocol.jsonrpc.nesting import STEP_BYTES, finished

__all__ = [
    "is_utf8",
    "is_utf8_in_steps",
]


def is_utf8(text: bytes) -> bool:
    """Returns whether the bytes are UTF-8."""
    return finished(is_utf8_in_steps(text))


def is_utf8_in_steps(text: bytes) -> Generator[None, None, bool]:
    """Checks as `is_utf8` does, in steps between which the caller can return control to the event
    loop.
    """
    if text.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(text), STEP_BYTES):
            if start:
                yield
            decoder.decode(text[start : start + STEP_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
