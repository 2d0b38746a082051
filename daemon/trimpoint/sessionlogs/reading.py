"""Defines what every reader of a log can do, and what it says of the session. Pure."""

from typing import Any, NamedTuple, Protocol

from trimpoint_protocol import unified as u


class Reader(Protocol):
    """Reads the files of one session, in order."""

    @property
    def part_done(self) -> bool:
        """Returns whether nothing that follows in this file belongs to the session."""
        ...

    def begin_part(self, part: Any) -> None:
        """Begins a file; the lines that follow are of it."""
        ...

    def feed(self, line: bytes) -> None:
        """Reads one line."""
        ...

    def finish(self) -> None:
        """Ends the log; no line follows."""
        ...

    def about(self) -> "About":
        """Returns what the log says of the session itself, after `finish`."""
        ...


class About(NamedTuple):
    """The facts about a session in its log."""

    cwd: str | None = None
    created_at: str | None = None
    agent_version: str | None = None
    git_branch: str | None = None
    title: str | None = None
    lineage: u.Lineage = u.Lineage()
