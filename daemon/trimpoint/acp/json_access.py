"""Reads JSON of which a member may be missing or of another type."""

from collections.abc import Iterable
from typing import Any, cast

Json = dict[str, Any]


def as_object(value: Any) -> Json:
    """Returns an object, or an empty one in the place of anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns a list, or an empty one in the place of anything else."""
    return [*cast("Iterable[Any]", value)] if isinstance(value, list) else []


def as_objects(value: Any) -> list[Json]:
    """Returns the objects of a list."""
    return [cast("Json", one) for one in as_list(value) if isinstance(one, dict)]


def as_text(value: Any) -> str:
    """Returns a string, or an empty one in the place of anything else."""
    return value if isinstance(value, str) else ""
