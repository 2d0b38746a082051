"""Reads the prompts typed in a project from `logs.json`: prompts and slash commands. Pure.

The file is written anew each time, so that a reader may find half of it. All that a process logs
has the id of its first session.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec

COMPRESS = ("/compress", "/summarize", "/compact")
CLEAR = ("/clear", "/new")


class _Entry(msgspec.Struct, rename="camel"):
    session_id: str | None = None
    message: str | None = None
    timestamp: str | None = None


class Typed(NamedTuple):
    """A command that was typed, and when."""

    command: str
    at: datetime
    session_id: str | None


class PromptLog(NamedTuple):
    """The commands of a project. `is_there` is false where there is no log to look at."""

    compressions: list[Typed]
    clears: list[Typed]
    is_there: bool


NO_LOG = PromptLog([], [], is_there=False)


def prompt_log(data: bytes) -> PromptLog:
    """Reads a log; a torn one counts as none."""
    try:
        entries = msgspec.json.decode(data, type=list[_Entry])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return NO_LOG
    typed = [one for entry in entries if (one := _typed(entry)) is not None]
    return PromptLog(
        [one for one in typed if one.command in COMPRESS],
        [one for one in typed if one.command in CLEAR],
        is_there=True,
    )


def _typed(entry: _Entry) -> Typed | None:
    words = (entry.message or "").split()
    at = time_of(entry.timestamp)
    if not words or not words[0].startswith("/") or at is None:
        return None
    return Typed(words[0], at, entry.session_id)


def time_of(timestamp: str | None) -> datetime | None:
    """Returns a time with its zone, None for what is no time."""
    try:
        found = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
