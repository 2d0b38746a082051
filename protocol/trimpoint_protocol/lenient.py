"""Reads JSON that another program wrote: a value that is missing or has another type reads as
empty.
"""

from collections.abc import Iterable
from typing import Any, cast

import msgspec

__all__ = ["Json", "as_dict", "as_dicts", "as_list", "as_text", "words_of_error"]

Json = dict[str, Any]


def as_dict(value: Any) -> Json:
    """Returns `value` if it is an object, else an empty dict."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns a copy of `value` if it is an array, else an empty list."""
    return [*cast("Iterable[Any]", value)] if isinstance(value, list) else []


def as_dicts(value: Any) -> list[Json]:
    """Returns the elements of the array `value` that are objects."""
    return [cast("Json", one) for one in as_list(value) if isinstance(one, dict)]


def as_text(value: Any) -> str:
    """Returns `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def words_of_error(message: str) -> str:
    """Returns what an error says to a person: Codex passes on the JSON that a provider answered
    with. A message without such JSON is returned as it is.
    """
    begin, end = message.find("{"), message.rfind("}") + 1
    if begin < 0 or end <= begin:
        return message
    try:
        answer = as_dict(msgspec.json.decode(message[begin:end]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return message
    inner = answer.get("error")
    said = as_text(as_dict(inner).get("message") or answer.get("message") or inner).strip()
    before = message[:begin].strip().rstrip(":,")
    return (f"{before}: {said}" if before else said) if said else message
