"""Reads JSON values whose members may be missing or of another type."""

from collections.abc import Iterable
from typing import Any, cast

Json = dict[str, Any]


def as_object(value: Any) -> Json:
    """Returns `value` if it is a JSON object, otherwise an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns `value` if it is a list, otherwise an empty one."""
    return [*cast("Iterable[Any]", value)] if isinstance(value, list) else []


def as_objects(value: Any) -> list[Json]:
    """Returns the elements of the list `value` that are JSON objects."""
    return [cast("Json", one) for one in as_list(value) if isinstance(one, dict)]


def as_text(value: Any) -> str:
    """Returns `value` if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""
