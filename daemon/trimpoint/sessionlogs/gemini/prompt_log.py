"""Reads the log of the prompts and commands typed in a project, `logs.json`. Pure.

The file is rewritten each time, so a reader may find half of it. All entries of a process have the
id of its first session.
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
    """A typed command and its time."""

    command: str
    at: datetime
    session_id: str | None


class PromptLog(NamedTuple):
    """The commands of a project. `is_there` is false if there is no log."""

    compressions: list[Typed]
    clears: list[Typed]
    is_there: bool


NO_LOG = PromptLog([], [], is_there=False)


def prompt_log(data: bytes) -> PromptLog:
    """Parses a log; an incomplete one counts as missing."""
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
    """Parses a time with a zone; None if it is not one."""
    try:
        found = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
