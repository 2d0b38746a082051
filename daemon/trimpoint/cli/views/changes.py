"""Reads the changes of files that Codex reports: as lines of a diff, and as counts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from trimpoint_protocol.lenient import as_dict


class Counts(NamedTuple):
    """The number of lines that a change adds and removes."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} -{self.removed}"


def diff_text(change: Mapping[str, Any]) -> str:
    """Returns a change as a diff in which each line begins with its sign. Codex sends a new or
    deleted file as its bare text.
    """
    text, kind = str(change.get("diff") or ""), _kind(change)
    if kind not in {"add", "delete"}:
        return text
    sign = "+" if kind == "add" else "-"
    lines = text.removesuffix("\n").split("\n") if text else []
    return "\n".join(f"{sign}{line}" for line in lines)


def counts(change: Mapping[str, Any]) -> Counts:
    """Returns how many lines a change adds and removes."""
    signs = [line[:1] for line in diff_text(change).split("\n")]
    return Counts(signs.count("+"), signs.count("-"))


def place_of(change: Mapping[str, Any]) -> str:
    """Returns the path of a changed file, and its new path if it was moved."""
    moved = as_dict(change.get("kind")).get("move_path")
    path = str(change.get("path") or "?")
    return f"{path} → {moved}" if moved else path


def _kind(change: Mapping[str, Any]) -> str:
    kind = change.get("kind")
    return kind if isinstance(kind, str) else str(as_dict(kind).get("type") or "")
