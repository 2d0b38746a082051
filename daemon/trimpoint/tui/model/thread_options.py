"""Orders threads and sessions for the lists to choose from."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.tui.model.choosing import Option

Row = ThreadOverview | SessionOverview


class PickedFor(StrEnum):
    """What to do with the chosen row. A session of another agent is opened as a new thread."""

    OPEN = "open"
    FORK = "fork"
    NEW = "new"


class Picked(NamedTuple):
    """The person's choice; `row` is None for a new thread."""

    action: PickedFor
    row: Row | None


def thread_options(threads: Iterable[ThreadOverview], folder: str) -> list[Option[Row]]:
    """Returns the threads: those of `folder` first, archived ones last, otherwise in their given
    order.
    """
    ordered = sorted(threads, key=lambda one: (one.archived, one.cwd != folder))
    return [
        Option[Row](
            one,
            _words(one.name, one.preview, one.last_words, one.cwd, one.branch_name, one.id),
        )
        for one in ordered
    ]


def session_options(sessions: Iterable[SessionOverview]) -> list[Option[Row]]:
    """Returns the sessions in their given order."""
    return [
        Option[Row](one, _words(one.agent, one.title, one.first_prompt, one.cwd, one.id))
        for one in sessions
    ]


def _words(*words: str | None) -> str:
    return " ".join(" ".join((word or "").split()) for word in words)
