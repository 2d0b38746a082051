"""Handles the requests of an ACP editor.

Always true: every request is answered, also after an internal error, because an editor waits for
ever for an answer.
"""

import asyncio
import logging
import os
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import Json, as_dicts, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import (
    INTERNAL,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Incoming,
    Peer,
    RpcError,
)
from trimpoint.acp.login import Login
from trimpoint.acp.sessions.catalogue import Catalogue
from trimpoint.acp.sessions.mcp_servers import McpServers
from trimpoint.acp.sessions.session import Session
from trimpoint.acp.sessions.session_list import SessionLister
from trimpoint.acp.sessions.thread_link import NOT_FOUND
from trimpoint.acp.translate.history import NEW_THREAD, divider, replayed
from trimpoint.acp.translate.mcp import BadServer, mcp_config
from trimpoint.acp.wire import requests as r
from trimpoint.acp.wire.answers import Empty, Implementation, Initialized
from trimpoint.acp.wire.capabilities import agent_capabilities, capabilities_in

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
CANCELLED, INVALID_REQUEST = -32800, -32600
INITIALIZE_FIRST = "Send initialize first."
P = TypeVar("P", bound=r.Params)


class Row(NamedTuple):
    """The type of a request's parameters, and its handler."""

    params: type[Any]
    handle: Callable[[Incoming, Any], Awaitable[None]]


class Agent:
    """The agent of one editor. Bytes from the editor are passed to `take`; `send` sends bytes to
    it.
    """

    def __init__(
        self, link: DaemonLink, send: Callable[[bytes], None], environ: dict[str, str], version: str
    ) -> None:
        self._link = link
        self._version = version
        self._peer = Peer(self, send, versioned=True)
        self._editor = Editor(self._peer)
        self._catalogue = Catalogue(link)
        self._login = Login(link, self._editor, self._catalogue, environ)
        self._lister = SessionLister(link)
        self._sessions: dict[str, Session] = {}
        self._running: dict[bytes, asyncio.Task[None]] = {}
        self._is_initialized = False
        self._initializing: asyncio.Task[None] | None = None
        self._rows: dict[str, Row] = {
            "initialize": Row(r.InitializeParams, self._initialize),
            "authenticate": Row(r.AuthenticateParams, self._authenticate),
            "logout": Row(r.NoParams, self._log_out),
            "session/new": Row(r.NewSessionParams, self._new),
            "session/load": Row(r.OpenSessionParams, self._load),
            "session/resume": Row(r.OpenSessionParams, self._resume),
            "session/list": Row(r.ListSessionsParams, self._list),
            "session/close": Row(r.SessionParams, self._close_session),
            "session/delete": Row(r.SessionParams, self._delete),
            "session/set_mode": Row(r.SetModeParams, self._set_mode),
            "session/set_config_option": Row(r.SetOptionParams, self._set_option),
        }

    def take(self, data: bytes) -> None:
        """Processes bytes that were received from the editor."""
        self._peer.take(data)

    def requested(self, request: Incoming) -> None:
        """Starts to handle a request."""
        if self._initializing is None and request.method != "initialize":
            return request.refuse(RpcError(INVALID_REQUEST, INITIALIZE_FIRST))
        if request.method == "session/prompt":
            return self._prompt(request)
        row = self._rows.get(request.method)
        if row is None:
            return request.refuse(
                RpcError(METHOD_NOT_FOUND, f"There is no method {request.method!r}.")
            )
        params = _read(request, row.params)
        if params is not None:
            task = self._run(request, partial(row.handle, request, params))
            if request.method == "initialize":
                self._initializing = task
        return None

    def notified(self, method: str, params: Raw) -> None:
        """Handles a notification. An unknown or invalid one is ignored, as JSON-RPC requires."""
        try:
            if method == "session/cancel":
                session = self._sessions.get(
                    msgspec.json.decode(params, type=r.SessionParams).session_id
                )
                if session is not None:
                    session.cancel()
            elif method == "$/cancel_request":
                self._cancel_request(
                    bytes(msgspec.json.decode(params, type=r.CancelRequestParams).request_id)
                )
        except msgspec.ValidationError as problem:
            log.warning("notification_ignored method=%s problem=%s", method, problem)

    async def settled(self) -> None:
        """Waits until all requests except prompts have been answered."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def close(self) -> None:
        """Closes all sessions. Turns that no other client follows are interrupted."""
        for session in list(self._sessions.values()):
            await session.close(interrupt=not await self._lister.is_shared(session.thread.id))

    def _run(self, request: Incoming, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._answered(request, work))
        self._running[request.id] = task
        task.add_done_callback(lambda _: self._running.pop(request.id, None))
        return task

    async def _answered(self, request: Incoming, work: Callable[[], Awaitable[None]]) -> None:
        try:
            if request.method != "initialize":
                await self._initialized()
            await work()
        except RpcError as error:
            request.refuse(error)
        except asyncio.CancelledError:
            request.refuse(RpcError(CANCELLED, "The request was cancelled."))
            raise
        except Exception:  # whatever the defect, an editor without an answer hangs
            error_id = str(uuid.uuid4())
            log.exception("request_failed method=%s error_id=%s", request.method, error_id)
            request.refuse(
                RpcError(
                    INTERNAL,
                    "trimpoint failed internally; its log has the details.",
                    {"errorId": error_id},
                )
            )

    async def _initialized(self) -> None:
        """Waits for the answer to `initialize`, behind which an editor may send requests at once.

        :raises RpcError: when it was refused.
        """
        if self._initializing is not None:
            await asyncio.wait([self._initializing])
        if not self._is_initialized:
            raise RpcError(INVALID_REQUEST, INITIALIZE_FIRST)

    def _cancel_request(self, request_id: bytes) -> None:
        for session in self._sessions.values():
            if session.cancel_request(request_id):
                return
        if (task := self._running.get(request_id)) is not None:
            task.cancel()

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(
                NOT_FOUND,
                f"There is no session {session_id} here; "
                "create one with session/new or load one with session/load.",
            )
        return session

    async def _initialize(self, request: Incoming, params: r.InitializeParams) -> None:
        self._editor.capabilities = capabilities_in(params.client_capabilities)
        self._is_initialized = True
        answer = Initialized(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=agent_capabilities(),
            auth_methods=await self._login.methods(),
            agent_info=Implementation(
                name="trimpoint", title="Codex with trimpoint", version=self._version
            ),
        )
        request.answer(answer)

    async def _authenticate(self, request: Incoming, params: r.AuthenticateParams) -> None:
        await self._login.authenticate(request, params.method_id)
        request.answer(Empty())

    async def _log_out(self, request: Incoming, params: r.NoParams) -> None:
        await self._login.log_out()
        request.answer(Empty())

    async def _new(self, request: Incoming, params: r.NewSessionParams) -> None:
        session = self._made(params)
        _require_folder(params.cwd)
        await self._login.require()
        answer = await session.start(params.cwd)
        self._sessions[session.id] = session
        request.answer(answer)
        await session.announce()

    async def _load(self, request: Incoming, params: r.OpenSessionParams) -> None:
        session = await self._replaced(params)
        answer = await session.resume(params.session_id, params.cwd)
        self._sessions[session.id] = session
        await replay(self._link, self._editor, session.id, session.thread.ids)
        request.answer(answer)
        await session.announce()

    async def _resume(self, request: Incoming, params: r.OpenSessionParams) -> None:
        session = await self._replaced(params)
        request.answer(await session.resume(params.session_id, params.cwd))
        self._sessions[session.id] = session
        await session.announce()

    async def _list(self, request: Incoming, params: r.ListSessionsParams) -> None:
        request.answer(await self._lister.page(params.cwd, params.cursor))

    async def _close_session(self, request: Incoming, params: r.SessionParams) -> None:
        session = self._session(params.session_id)
        del self._sessions[params.session_id]
        await session.close(interrupt=True)
        request.answer(Empty())

    async def _delete(self, request: Incoming, params: r.SessionParams) -> None:
        session = self._sessions.pop(params.session_id, None)
        thread_id = params.session_id
        if session is not None:
            thread_id = session.thread.id
            await session.close(interrupt=True)
        await self._lister.archive(thread_id)
        request.answer(Empty())

    async def _set_mode(self, request: Incoming, params: r.SetModeParams) -> None:
        await self._session(params.session_id).set_mode(params.mode_id)
        request.answer(Empty())

    async def _set_option(self, request: Incoming, params: r.SetOptionParams) -> None:
        request.answer(
            await self._session(params.session_id).set_option(params.config_id, params.value)
        )

    def _prompt(self, request: Incoming) -> None:
        params = _read(request, r.PromptParams)
        if params is None:
            return None
        session = self._sessions.get(params.session_id)
        if session is None:
            return request.refuse(
                RpcError(
                    NOT_FOUND,
                    f"There is no session {params.session_id} here; "
                    "create one with session/new or load one with session/load.",
                )
            )
        self._run(request, partial(session.work, session.accept(request), params.prompt))
        return None

    def _made(self, params: r.NewSessionParams) -> Session:
        """Returns a session that has no thread yet.

        :raises RpcError: when a folder is not absolute, or an MCP server's configuration cannot be
            used.
        """
        roots = params.additional_directories or []
        for folder in (params.cwd, *roots):
            if not folder.startswith("/"):
                raise RpcError(INVALID_PARAMS, f"The folder {folder!r} is not an absolute path.")
        try:
            servers = McpServers(mcp_config(params.mcp_servers))
        except BadServer as problem:
            raise RpcError(INVALID_PARAMS, str(problem)) from None
        return Session(
            self._link,
            self._editor,
            self._catalogue,
            servers,
            [params.cwd, *roots] if roots else [],
        )

    async def _replaced(self, params: r.OpenSessionParams) -> Session:
        """Returns a new session, and closes an open one with the same id."""
        made = self._made(params)
        await self._login.require()
        open_session = self._sessions.pop(params.session_id, None)
        if open_session is not None:
            await open_session.close(interrupt=True)
        return made


def _require_folder(path: str) -> None:
    if not os.path.isdir(path):
        raise RpcError(INVALID_PARAMS, f"There is no folder {path!r} on this machine.")


def _read(request: Incoming, kind: type[P]) -> P | None:
    """Returns a request's decoded parameters; None if they are not valid, and then the request has
    been answered with an error.
    """
    try:
        return msgspec.json.decode(request.params, type=kind)
    except msgspec.ValidationError as problem:
        request.refuse(RpcError(INVALID_PARAMS, f"The parameters are invalid: {problem}."))
    return None


PAGE = 500


async def replay(link: DaemonLink, editor: Editor, session_id: str, thread_ids: list[str]) -> None:
    """Sends the history of a session's threads, the oldest first, with a divider between two
    threads.

    :raises RpcError: when the history cannot be read.
    """
    for place, thread_id in enumerate(thread_ids):
        if place:
            editor.update(session_id, *divider(editor.capabilities, thread_id, NEW_THREAD, None))
        editor.update(session_id, *replayed(await _entries(link, thread_id), editor.capabilities))


async def _entries(link: DaemonLink, thread_id: str) -> list[Json]:
    pages: list[list[Json]] = []
    cursor: str | None = None
    while True:
        page = await link.request(
            "timeline/read", threadId=thread_id, expand="all", limit=PAGE, cursor=cursor
        )
        pages.append(as_dicts(page.get("entries")))
        cursor = as_text(page.get("nextCursor")) or None
        if cursor is None:
            return [entry for entries in reversed(pages) for entry in entries]
