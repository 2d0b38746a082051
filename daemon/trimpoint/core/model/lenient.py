"""Reads JSON that another program wrote: a value that is missing or has another type reads as
empty.
"""

from collections.abc import Iterable
from typing import Any, cast


def as_dict(value: Any) -> dict[str, Any]:
    """Returns `value` if it is an object, else an empty dict."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns a copy of `value` if it is an array, else an empty list."""
    return [*cast("Iterable[Any]", value)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Returns `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""
