"""Collects what the rows say about their session as a whole. Pure."""

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.rows import TITLES, Row, title_of
from trimpoint.sessionlogs.reading import About


class SessionFacts:
    """The title, the origin, and the first and the last row of a session."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._first = Row()
        self._last = Row()
        self._forked_from: str | None = None

    def titled(self, row: Row) -> None:
        """Reads a row with a title."""
        self._titles[row.type] = title_of(row) or self._titles.get(row.type, "")

    def read(self, row: Row) -> None:
        """Reads a row of the conversation."""
        if self._first.uuid is None:
            self._first = row
        if row.version is not None:
            self._last = row
        if row.forked_from is not None and self._forked_from is None:
            self._forked_from = row.forked_from.session_id

    def about(self) -> About:
        """Returns the data about the session."""
        title = next((self._titles[kind] for kind in TITLES if self._titles.get(kind)), None)
        return About(
            cwd=self._first.cwd,
            created_at=self._first.timestamp,
            agent_version=self._last.version,
            git_branch=self._last.git_branch,
            title=title,
            lineage=u.Lineage(forked_from=self._forked_from),
        )
