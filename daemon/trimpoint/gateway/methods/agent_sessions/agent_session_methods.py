"""Handlers of `sessions/…`: the sessions of all agents, in bounded pages. Reading logs blocks, so
it runs in worker threads.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from anyio import to_thread
from trimpoint_protocol import methods as m
from trimpoint_protocol.commands import CompactContext
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.shapes import agent_sessions as a
from trimpoint_protocol.unified import Agent

from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.launch_requests import is_same_path
from trimpoint.core.model.tokens import estimate_total
from trimpoint.gateway.methods.agent_sessions.own_export import MAX_EXPORT_BYTES, own_export
from trimpoint.gateway.methods.agent_sessions.own_sessions import conversations
from trimpoint.gateway.methods.agent_sessions.session_pages import SessionPages, place_in
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.operations.imports import ImportedTurn, Imports
from trimpoint.operations.sessions import Sessions
from trimpoint.sessionlogs.carry import Carried, carried
from trimpoint.sessionlogs.catalogue import (
    EARLIEST,
    Ambiguous,
    Query,
    is_wanted,
    listed,
    moment_of,
    names,
    newest_first,
    session_named,
)
from trimpoint.sessionlogs.export import exported
from trimpoint.sessionlogs.homes import Homes, cache_file, homes_in
from trimpoint.sessionlogs.live import LiveWindow, live_window
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.overviews import Overviews
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry

DEFAULT_PAGE = 100
MAX_PAGE_BYTES = 8 * 1024 * 1024
# Every model of Codex can hold this many tokens beside its instructions. Used while the window is
# unknown.
DEFAULT_MAX_TOKENS = 150_000
# How much of a window a session may fill: instructions, tools and the next answer need the rest.
SHARE_OF_WINDOW = 0.75
SEE_LIST = "sessions/list lists them, in a terminal trimpoint sessions."


class SessionPlaces(NamedTuple):
    """The folders in which agents keep their session logs, and the file that caches overviews of
    them, or None for no cache.
    """

    homes: Homes
    cache: Path | None


def places_of(profile: LaunchProfile) -> SessionPlaces:
    """Returns the session folders that programs run by this Codex would use."""
    environment = {**os.environ, **dict(profile.environment)}
    homes = homes_in(environment)
    if profile.codex_home is not None:
        homes = homes._replace(codex=profile.codex_home)
    return SessionPlaces(homes, cache_file(environment))


class AgentSessionMethods:
    """Handles `sessions/…`. `table` maps method names to handlers."""

    def __init__(
        self,
        places: SessionPlaces,
        registry: ThreadRegistry,
        imports: Imports,
        sessions: Sessions,
    ) -> None:
        self._homes, self._cache = places
        self._registry = registry
        self._imports = imports
        self._sessions = sessions
        self._pages = SessionPages()
        self.table: dict[str, Handler] = {
            "sessions/list": self._list,
            "sessions/read": self._read,
            "sessions/export": self._export,
            "session/export": self._export_thread,
            "sessions/continue": self._continue,
        }

    async def _list(self, call: Call, params: a.SessionListParams) -> a.SessionList:
        since = _since(params.since)
        query = Query(params.agent, params.cwd, since, params.search)
        homes = self._homes_of(params)
        everything = await to_thread.run_sync(self._listed, homes, query)
        if params.agent in (None, "trimpoint"):
            found = conversations(everything, self._registry.summaries.values())
            everything = newest_first([one for one in found if is_wanted(one, query)])
        start = _place(params.cursor)
        end = start + (params.limit or DEFAULT_PAGE)
        next_cursor = str(end) if end < len(everything) else None
        return a.SessionList(sessions=everything[start:end], next_cursor=next_cursor)

    def _listed(self, homes: Homes, query: Query) -> list[a.SessionOverview]:
        return listed(homes, Overviews(self._cache), query)

    def _homes_of(self, params: a.SessionFolders) -> Homes:
        """Returns the folders that the client names, or those of this daemon."""
        named = (params.codex_home, params.claude_home, params.gemini_home)
        for folder in named:
            if folder is not None and not os.path.isabs(folder):
                raise Refusal(Reason.INVALID_PARAMS, f"{folder!r} is no absolute path of a folder.")
        pairs = zip(named, self._homes, strict=True)
        return Homes(*(ours if theirs is None else Path(theirs) for theirs, ours in pairs))

    async def _read(self, call: Call, params: a.SessionReadParams) -> a.SessionRecords:
        return await to_thread.run_sync(self._page, params)

    def _page(self, params: a.SessionReadParams) -> a.SessionRecords:
        start, whole = _place(params.cursor), params.include_compacted
        found = self._named(params)
        page = self._pages.page(
            place_in(found, include_compacted=whole, start=start),
            partial(self._exported, found, "unified", include_compacted=whole),
            limit=params.limit or DEFAULT_PAGE,
            max_bytes=MAX_PAGE_BYTES,
        )
        taken: list[Any] = [msgspec.Raw(line) for line in page.lines]  # encoded already
        cursor = str(start + len(taken)) if page.more else None
        return a.SessionRecords(records=taken, next_cursor=cursor)

    async def _export(self, call: Call, params: a.SessionExportParams) -> a.SessionContent:
        own_id = self._own_id(params.session_id, params.agent)
        if own_id is None:
            content = await to_thread.run_sync(self._content, params)
        else:
            writer = await self._registry.thread(own_id)
            whole = params.include_compacted
            content = await own_export(writer.state, params.format, include_compacted=whole)
        return a.SessionContent(format=params.format, content=content)

    async def _export_thread(self, call: Call, params: m.ExportParams) -> m.ExportResult:
        writer = await self._registry.thread(self._registry.stable_id(params.thread_id))
        whole = params.pruned or (params.format == "unified" and params.include_compacted)
        content = await own_export(writer.state, params.format, include_compacted=whole)
        return m.ExportResult(format=params.format, content=content)

    def _content(self, params: a.SessionExportParams) -> str:
        found = self._named(params)
        pieces: list[bytes] = []
        room = MAX_EXPORT_BYTES
        for piece in self._exported(
            found, params.format, include_compacted=params.include_compacted
        ):
            room -= len(piece)
            if room < 0:
                problem = "The session is too large for one answer."
                hint = "`trimpoint sessions export` writes it to a file; sessions/read gives pages."
                raise Refusal(Reason.NOT_SUPPORTED, problem, hint)
            pieces.append(piece)
        return b"".join(pieces).decode("utf-8", "replace")

    async def _continue(self, call: Call, params: a.SessionContinueParams) -> a.ContinuedSession:
        window = await to_thread.run_sync(self._window, params)
        room = _room(self._registry.summaries.values())
        given = carried(window, max_tokens=room, last=params.last)
        if not given.items:
            problem = "Nothing of the session is in its context that could be carried over."
            raise Refusal(Reason.NOT_SUPPORTED, problem, "trimpoint sessions show has its history.")
        cwd = _folder(params.cwd, window.session.cwd, call.client.folder)
        turns = [ImportedTurn(turn.items, turn.said) for turn in given.turns]
        thread_id = await self._imports.begin({"cwd": cwd}, turns, call.client.launch)
        call.client.join(thread_id)
        if params.compact:
            command = CompactContext(command_id=new_uuid7(), thread_id=thread_id, force=True)
            await self._sessions.dispatch(command)
        return _continued(thread_id, cwd, window, given)

    def _window(self, params: a.SessionContinueParams) -> LiveWindow:
        found = self._named(params)
        try:
            return live_window(Reading(found, include_compacted=False))
        except CannotRead as error:
            raise _unreadable(error) from None

    def _named(
        self, params: a.SessionReadParams | a.SessionExportParams | a.SessionContinueParams
    ) -> FoundSession:
        session_id, agent = params.session_id, params.agent
        own_id = self._own_id(session_id, agent)
        if own_id is not None:
            raise _own(session_id, archived=self._registry.summaries[own_id].archived)
        try:
            return session_named(self._homes_of(params), session_id, agent)
        except Ambiguous as error:
            raise _ambiguous(error) from None

    def _own_id(self, session_id: str, agent: Agent | None) -> str | None:
        """Returns the id of the thread of ours that is asked for, or None for another session. A
        thread has the id of the first log that Codex wrote of it.
        """
        if agent not in (None, "trimpoint"):
            return None
        known = self._registry.summaries
        found = [session_id] if session_id in known else [i for i in known if names(session_id, i)]
        if len(found) > 1:
            raise _ambiguous(Ambiguous(session_id, found))
        if not found and agent == "trimpoint":
            raise _ambiguous(Ambiguous(session_id, []))
        return found[0] if found else None

    def _exported(
        self, found: FoundSession, form: a.ExportFormat, *, include_compacted: bool
    ) -> Iterator[bytes]:
        try:
            yield from exported(found, form, include_compacted=include_compacted)
        except CannotRead as error:
            raise _unreadable(error) from None


def _own(session_id: str, *, archived: bool) -> Refusal:
    """Returns the refusal to read a thread of ours as a session of another program."""
    problem = f"{session_id} is a thread of trimpoint, not a session of another program."
    first = (
        f"It is archived: trimpoint threads unarchive {session_id} brings it back. Then " * archived
    )
    hint = (
        f"{first}trimpoint ask -t {session_id} TEXT goes on in it (thread/resume), and trimpoint "
        f"threads fork {session_id} copies it. sessions/export has it in the same form; "
        "Codex's own log of it has agent codex."
    )
    return Refusal(Reason.NOT_SUPPORTED, problem, hint)


def _room(summaries: Iterable[ThreadSummary]) -> int:
    """Returns how many tokens a session may bring into a new thread: a share of the context window
    that was reported last.
    """
    reported = [
        (one.updated_at_ms, one.size.window_tokens)
        for one in summaries
        if one.size is not None and one.size.window_tokens
    ]
    return int(max(reported)[1] * SHARE_OF_WINDOW) if reported else DEFAULT_MAX_TOKENS


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise Refusal(Reason.INVALID_PARAMS, "The cursor was not issued by this method.")
    return int(cursor)


def _since(wanted: str | None) -> datetime | None:
    since = moment_of(wanted) if wanted is not None else None
    if since == EARLIEST:
        raise Refusal(Reason.INVALID_PARAMS, "since is not a time, such as 2026-01-31T12:00:00Z.")
    return since


def _ambiguous(error: Ambiguous) -> Refusal:
    hint = "Give more of the id, or the agent." if error.ids else SEE_LIST
    return Refusal(Reason.THREAD_NOT_FOUND, str(error), hint)


def _unreadable(error: CannotRead) -> Refusal:
    hint = "trimpoint sessions lists those that can be read."
    return Refusal(Reason.NOT_SUPPORTED, str(error), hint)


def _folder(wanted: str | None, logged: str | None, here: str | None) -> str:
    """Returns where the new thread works: `wanted`, or the folder that the log names if the client
    works there, too. An agent may write to its folder, so that a log alone must not choose it.
    """
    if wanted is None and logged and here and os.path.isdir(logged) and is_same_path(logged, here):
        return logged
    if wanted is not None and os.path.isdir(wanted):
        return wanted
    if wanted is not None:
        problem = f"{wanted} is not a folder on this machine."
    elif logged:
        problem = f"The session says that it worked in {logged}, which is not where you are."
    else:
        problem = "The session does not name its folder."
    hint = "Give the folder in which the agent may work: `cwd`, in a terminal --cwd."
    raise Refusal(Reason.INVALID_PARAMS, problem, hint)


def _continued(thread_id: str, cwd: str, window: LiveWindow, given: Carried) -> a.ContinuedSession:
    return a.ContinuedSession(
        thread_id=thread_id,
        session_id=window.session.id,
        agent=window.session.agent,
        cwd=cwd,
        turns=len(given.turns),
        items=len(given.items),
        est_tokens=estimate_total(given.items),
        left_out=given.left_out,
    )
