"""The interface of every reader, and the data about a session that it returns. Pure."""

from typing import Any, NamedTuple, Protocol

from trimpoint_protocol import unified as u


class Reader(Protocol):
    """Reads the files of one session, in order."""

    @property
    def part_done(self) -> bool:
        """Returns whether the rest of this file does not belong to the session."""
        ...

    def begin_part(self, part: Any) -> None:
        """Begins a file."""
        ...

    def feed(self, line: bytes) -> None:
        """Reads one line."""
        ...

    def finish(self) -> None:
        """Ends the log."""
        ...

    def about(self) -> "About":
        """Returns the data about the session in the log, after `finish`."""
        ...


class EndingReader(Reader, Protocol):
    """Reads the end of a session."""

    reaches_back: bool
    """Whether what stands before is needed."""


class About(NamedTuple):
    """The data about a session in its log."""

    cwd: str | None = None
    created_at: str | None = None
    agent_version: str | None = None
    git_branch: str | None = None
    title: str | None = None
    lineage: u.Lineage = u.Lineage()
