"""Finds, filters and lists the sessions of all agents on this machine."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from trimpoint_protocol import unified as u
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.core.model.spelling import short_id
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.overviews import Overviews
from trimpoint.sessionlogs.sessions import FoundSession

SHORTEST_ID_END = 4
MAX_NAMED = 5
EARLIEST = datetime.min.replace(tzinfo=UTC)


class Query(NamedTuple):
    """A selection of sessions. `since` is a point in time; all words of `search` must match."""

    agent: u.Agent | None = None
    cwd: str | None = None
    since: datetime | None = None
    search: str | None = None


class Ambiguous(Exception):
    """Raised when an id matches several sessions, or none; `ids` are the possible ones."""

    def __init__(self, wanted: str, ids: list[str]) -> None:
        super().__init__(wanted, ids)
        self.wanted = wanted
        self.ids = ids

    def __str__(self) -> str:
        if not self.ids:
            return f"There is no session {self.wanted!r}."
        named, more = self.ids[:MAX_NAMED], len(self.ids) - MAX_NAMED
        others = [f"one of {more} more"] if more > 0 else []
        return f"{self.wanted!r} may be {' or '.join(named + others)}."


def found_sessions(homes: Homes, agent: u.Agent | None = None) -> Iterator[FoundSession]:
    """Yields the sessions of all agents, or of one. Their readers are imported here because few
    daemons are asked for sessions, and a daemon that does not import them starts sooner.
    """
    if agent in (None, "codex"):
        from trimpoint.sessionlogs.codex.discovery import codex_sessions

        yield from codex_sessions(homes.codex)
    if agent in (None, "claude"):
        from trimpoint.sessionlogs.claude.discovery import claude_sessions

        yield from claude_sessions(homes.claude)
    if agent in (None, "gemini"):
        from trimpoint.sessionlogs.gemini.discovery import gemini_sessions

        yield from gemini_sessions(homes.gemini)


def listed(homes: Homes, overviews: Overviews, query: Query) -> list[SessionOverview]:
    """Returns the sessions that match, the most recently changed one first."""
    everything = [overviews.of(session) for session in found_sessions(homes, query.agent)]
    overviews.save()
    wanted = [one for one in everything if is_wanted(one, query)]
    return newest_first(wanted)


def newest_first(sessions: list[SessionOverview]) -> list[SessionOverview]:
    """Returns the sessions sorted by their last change, the newest first."""
    return sorted(sessions, key=lambda one: (moment_of(one.updated_at), one.id), reverse=True)


def is_wanted(one: SessionOverview, query: Query) -> bool:
    """Returns whether a session matches the query."""
    if query.cwd is not None and one.cwd != query.cwd:
        return False
    if query.since is not None and moment_of(one.updated_at) < query.since:
        return False
    if query.search is None:
        return True
    text = " ".join(filter(None, (one.title, one.first_prompt, one.cwd, one.id))).casefold()
    return all(word in text for word in query.search.casefold().split())


def moment_of(timestamp: str | None) -> datetime:
    """Converts a timestamp; one that cannot be parsed becomes the earliest possible time."""
    try:
        moment = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return EARLIEST
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def names(wanted: str, session_id: str) -> bool:
    """Returns whether `wanted` is the id, its beginning or end, or the beginning of its short form,
    which is the end that lists show.
    """
    name, known = wanted.casefold(), session_id.casefold()
    parts = (known, short_id(known))
    return len(name) >= SHORTEST_ID_END and (
        known.endswith(name) or any(part.startswith(name) for part in parts)
    )


def session_named(homes: Homes, wanted: str, agent: u.Agent | None = None) -> FoundSession:
    """Returns the session with this id, or the only one that `wanted` names (see `names`).

    :raises Ambiguous: when no session or more than one matches.
    """
    sessions = list(found_sessions(homes, agent))
    exact = [one for one in sessions if one.id == wanted]
    if len(exact) == 1:
        return exact[0]
    if not exact:
        named = [one for one in sessions if names(wanted, one.id)]
        exact = [one for one in named if one.id.casefold().endswith(wanted.casefold())] or named
    if len(exact) == 1:
        return exact[0]
    raise Ambiguous(wanted, [f"{one.id} ({one.agent})" for one in exact])
