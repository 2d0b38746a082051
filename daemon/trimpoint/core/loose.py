"""Reading JSON whose shape is somebody else's: what is not there, or is something else, reads as empty."""

from typing import Any


def members(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    found: dict[str, Any] = value if isinstance(value, dict) else {}
    return found


def rows(value: Any) -> list[Any]:
    """`value` if it is an array, else an empty one."""
    found: list[Any] = value if isinstance(value, list) else []
    return found
