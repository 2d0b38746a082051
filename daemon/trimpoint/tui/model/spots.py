"""Finds where in a file a change begins."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rich.style import Style
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.readmodel import TimelineActivity, TimelineEntry

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_META = "trimpoint_spot"


class Spot(NamedTuple):
    """A line of a file; the path is as Codex reported it."""

    path: str
    line: int


def spot_of(change: Mapping[str, Any]) -> Spot:
    """Returns the first line that a change adds or takes out."""
    path = as_dict(change.get("kind")).get("move_path") or change.get("path") or ""
    lines = iter(str(change.get("diff") or "").splitlines())
    begins = next((found for line in lines if (found := _HUNK.match(line))), None)
    at = 1 if begins is None else int(begins[1])
    for line in lines if begins is not None else ():
        if not line.startswith(" "):
            break
        at += 1
    return Spot(str(path), max(1, at))


def hunk_at(path: str, line: str) -> Spot | None:
    """Returns where the part of a change begins that this line of a diff is the head of."""
    begins = _HUNK.match(line)
    return None if begins is None else Spot(path, max(1, int(begins[1])))


def first_spot(entry: TimelineEntry) -> Spot | None:
    """Returns where the first change of an entry begins; None if it changes no file."""
    if not isinstance(entry, TimelineActivity) or entry.activity != "fileChange":
        return None
    changes = as_list(as_dict(entry.detail).get("changes"))
    return spot_of(as_dict(changes[0])) if changes else None


def opening(spot: Spot) -> Style:
    """Returns the style of words that a click on which opens a file."""
    return Style(meta={_META: tuple(spot)})


def spot_clicked(style: Style) -> Spot | None:
    """Returns the spot that words of this style open; None if they open none."""
    found: Any = style.meta.get(_META)
    return Spot(*found) if isinstance(found, tuple) else None
