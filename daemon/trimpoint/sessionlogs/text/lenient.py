"""Decodes JSON that other programs wrote, even where it is damaged in ways that are known. Pure."""

import json
import re
from typing import Any, TypeVar

import msgspec

from trimpoint.core.model.lenient import as_dict, as_list

T = TypeVar("T")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decode_object(line: bytes) -> dict[str, Any] | None:
    """Returns the object in `line`, None when there is none.

    Padding with NUL bytes is skipped. Bytes that are no UTF-8, and halves of surrogate pairs,
    become U+FFFD.
    """
    text = line.strip(b"\x00 \t\r\n").decode("utf-8", "replace")
    if not text.startswith("{"):
        return None
    try:
        found = _mended(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return as_dict(found) if isinstance(found, dict) else None


def convert_or_none(value: Any, kind: type[T]) -> T | None:
    """Returns `value` as `kind`, None when it is something else."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(one) for one in as_list(value)]
    if isinstance(value, dict):
        return {_mended(key): _mended(one) for key, one in as_dict(value).items()}
    return value
