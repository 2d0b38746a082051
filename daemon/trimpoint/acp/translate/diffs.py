"""Translates Codex's file changes to ACP's diffs, which hold the whole old and new text.

Codex sends the hunks of a changed file. The file is read before the change is made, and the hunks
are applied to its text. If they do not apply, each hunk becomes a diff of its own lines.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.wire.content import Diff, Location

ReadFile = Callable[[str], str | None]
"""Returns the text of a file; None if it is missing, too large or no text."""

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """One hunk of a unified diff. `old_start` counts lines from 1."""

    old_start: int
    old: list[str]
    new: list[str]


def no_file(path: str) -> str | None:
    """Returns None: for changes made so long ago that the file no longer has its old text."""
    del path
    return None


def diffs_of(change: Json, read_file: ReadFile) -> list[Diff]:
    """Returns a change as diffs: one of the whole file, or one for each hunk."""
    path, text = as_text(change.get("path")), as_text(change.get("diff"))
    match kind_of(change):
        case "add":
            return [Diff(path=path, old_text=None, new_text=text)]
        case "delete":
            return [Diff(path=path, old_text=text, new_text="")]
        case _:
            return _update(path, moved_to(change) or path, hunks_in(text), read_file)


def kind_of(change: Json) -> str:
    """Returns "add", "delete" or "update"."""
    return as_text(as_dict(change.get("kind")).get("type")) or "update"


def moved_to(change: Json) -> str | None:
    """Returns the new path of a moved file; None if it was not moved."""
    return as_text(as_dict(change.get("kind")).get("move_path")) or None


def locations_of(change: Json) -> list[Location]:
    """Returns the changed file with the line of its first hunk, and its new path if it was
    moved.
    """
    hunks = hunks_in(as_text(change.get("diff"))) if kind_of(change) == "update" else []
    line = hunks[0].old_start or None if hunks else None
    moved = moved_to(change)
    first = Location(path=as_text(change.get("path")), line=line)
    return [first] if moved is None else [first, Location(path=moved)]


def hunks_in(text: str) -> list[Hunk]:
    """Returns the hunks of a unified diff."""
    hunks: list[Hunk] = []
    for line in text.split("\n"):
        if (header := _HEADER.match(line)) is not None:
            hunks.append(Hunk(int(header[1]), [], []))
        elif hunks:
            _add_line(hunks[-1], line)
    return hunks


def _add_line(hunk: Hunk, line: str) -> None:
    mark, rest = line[:1], line[1:]
    if mark in (" ", "-"):
        hunk.old.append(rest)
    if mark in (" ", "+"):
        hunk.new.append(rest)


def _update(path: str, new_path: str, hunks: list[Hunk], read_file: ReadFile) -> list[Diff]:
    old = read_file(path)
    new = _applied(old, hunks) if old is not None else None
    if old is not None and new is not None:
        return [Diff(path=new_path, old_text=old, new_text=new)]
    return [
        Diff(path=new_path, old_text=_joined(one.old), new_text=_joined(one.new)) for one in hunks
    ]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _applied(text: str, hunks: list[Hunk]) -> str | None:
    """Returns `text` with the hunks applied; None if they do not match it."""
    lines, result, place = text.split("\n"), list[str](), 0
    for hunk in hunks:
        # A hunk without old lines names the line that it comes after.
        start = hunk.old_start - 1 if hunk.old else hunk.old_start
        end = start + len(hunk.old)
        if start < place or lines[start:end] != hunk.old:
            return None
        result += [*lines[place:start], *hunk.new]
        place = end
    return "\n".join([*result, *lines[place:]])
