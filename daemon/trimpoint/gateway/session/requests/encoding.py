"""Encodes the results of trimpoint's own methods. An encoder lets no other thread run, so long
lists are encoded in pieces.
"""

from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_list

# Encoded in a few milliseconds.
PIECE = 1024


def is_long(result: Any) -> bool:
    """Returns whether a result has a list that takes long to encode."""
    if isinstance(result, msgspec.Struct):
        return any(is_long(getattr(result, name)) for name in result.__struct_fields__)
    return isinstance(result, list) and len(as_list(result)) > PIECE


def encoded_in_pieces(result: Any) -> bytes:
    """Returns a result as JSON."""
    return msgspec.json.encode(_with_lists_encoded(result))


def encoded_and_freed(results: list[Any]) -> bytes:
    """Returns the last of `results` as JSON, and takes it out of the list."""
    return encoded_in_pieces(results.pop())


def _with_lists_encoded(value: Any) -> Any:
    if not is_long(value):
        return value
    if isinstance(value, msgspec.Struct):
        members = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: _with_lists_encoded(one) for name, one in members.items() if is_long(one)}
        return msgspec.structs.replace(value, **changed)
    pieces = (value[at : at + PIECE] for at in range(0, len(value), PIECE))
    return Raw(b"[" + b",".join(msgspec.json.encode(piece)[1:-1] for piece in pieces) + b"]")
