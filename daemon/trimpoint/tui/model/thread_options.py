"""Threads and sessions in the order in which they are offered."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.tui.model.choosing import Option

Row = ThreadOverview | SessionOverview


class PickedFor(StrEnum):
    """The action for the chosen row; a session of another agent opens as a new thread."""

    OPEN = "open"
    FORK = "fork"
    NEW = "new"


class Picked(NamedTuple):
    """A person's choice; `row` is None for a new thread."""

    action: PickedFor
    row: Row | None


def thread_options(threads: Iterable[ThreadOverview], folder: str) -> list[Option[Row]]:
    """Returns threads: those of the folder first, archived ones last, else the last used first."""
    ordered = sorted(threads, key=lambda one: (one.archived, one.cwd != folder))
    return [Option[Row](one, _words(one.name, one.preview, one.cwd, one.id)) for one in ordered]


def session_options(sessions: Iterable[SessionOverview]) -> list[Option[Row]]:
    """Returns sessions in the order in which the daemon gave them."""
    return [
        Option[Row](one, _words(one.agent, one.title, one.first_prompt, one.cwd, one.id))
        for one in sessions
    ]


def _words(*words: str | None) -> str:
    return " ".join(" ".join((word or "").split()) for word in words)
