"""Decodes JSON of other programs, with tolerance for known kinds of damage. Pure."""

import json
import re
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

T = TypeVar("T")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decode_object(line: bytes) -> dict[str, Any] | None:
    """Returns the JSON object in `line`, or None.

    NUL padding is skipped. Bytes that are not UTF-8, and unpaired surrogates, become U+FFFD.
    """
    text = line.strip(b"\x00 \t\r\n")
    found = decode_value(text) if text.startswith(b"{") else None
    return as_dict(found) if isinstance(found, dict) else None


def decode_value(value: bytes | memoryview) -> Any:
    """Returns a JSON value, mended alike; None where it cannot be read."""
    try:
        return _mended(json.loads(bytes(value).decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def convert_or_none(value: Any, kind: type[T]) -> T | None:
    """Returns `value` converted to `kind`; None if it has another type."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return None


def salvaged(value: Any, kind: type[T]) -> T | None:
    """Returns `value` converted to `kind` without the members that have another type; None if
    nothing is left. So a version that writes one member differently loses only that member.
    """
    found: T | None = _salvaged(value, kind)
    return found


def _salvaged(value: Any, kind: Any) -> Any:
    found = convert_or_none(value, kind)
    if found is not None:
        return found
    for one in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if one is msgspec.Raw:
            return msgspec.Raw(msgspec.json.encode(value))
        if isinstance(value, dict) and isinstance(one, type) and issubclass(one, msgspec.Struct):
            return _salvaged_struct(as_dict(value), one)
        if isinstance(value, list) and get_origin(one) is list:
            parts = [_salvaged(part, get_args(one)[0]) for part in as_list(value)]
            return [part for part in parts if part is not None]
    return None


def _salvaged_struct(value: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    members = {
        field.name: found
        for field in msgspec.structs.fields(kind)
        if (found := _salvaged(value.get(field.encode_name), field.type)) is not None
    }
    try:
        return kind(**members)
    except TypeError:  # a member that must be there is not
        return None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(one) for one in as_list(value)]
    if isinstance(value, dict):
        return {_mended(key): _mended(one) for key, one in as_dict(value).items()}
    return value
