"""Reads JSON that another program wrote: a value that is missing or has another type reads as
empty.
"""

from collections.abc import Iterable
from typing import Any, cast

__all__ = ["Json", "as_dict", "as_dicts", "as_list", "as_text"]

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
