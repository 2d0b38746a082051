"""The front door: every message of every client comes through here, and everything a client hears goes out here.

The law: nothing a client sends ends more than its own request, and each request is answered exactly once.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import AnswerIgnored

from trimpoint.codex.appserver.peer import ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict
from trimpoint.core.views.view import envelopes
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.ids.working_directory import resolve_working_directory
from trimpoint.gateway.session.clients import Client, Clients, Delivery
from trimpoint.gateway.session.dispatch import Call, ExtensionMethods
from trimpoint.gateway.session.errors import Refusal
from trimpoint.gateway.session.experimental_gate import ExperimentalGate
from trimpoint.gateway.session.handshake import Handshake, initialize_deadline, require_initialized
from trimpoint.gateway.session.lifecycle_notifications import LifecycleNotifications
from trimpoint.gateway.session.played_turns import PlayedTurns
from trimpoint.gateway.session.request import ClientRequest
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.gateway.session.startup_notifications import StartupNotifications
from trimpoint.gateway.transport.connection import Connection, wants_answer
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

Handler = Callable[[ClientRequest], Awaitable[Any]]
QUESTION_RESOLVED = "serverRequest/resolved"
FOLLOWED = "orchestration/event"


class _ResolvedParams(msgspec.Struct, rename="camel"):
    request_id: Raw


class _Resolved(msgspec.Struct):
    params: _ResolvedParams


class Gateway:
    """`start` gives it the tasks in which requests are handled; `set_routes` completes it with the methods that need it."""

    def __init__(self, engine: ThreadRegistry, clients: Clients, identity: Identity, link: CodexLink, max_requests: int) -> None:
        self._engine = engine
        self._clients = clients
        self._identity = identity
        self._handshake = Handshake(link)
        self._experimental = ExperimentalGate(link)
        self._greetings = StartupNotifications()
        self._max_requests = max_requests
        self._in_flight: dict[str, int] = {}
        self._tasks: TaskGroup | None = None
        self._handlers: dict[str, Handler] = {}
        self._forward: Handler | None = None
        self._own: ExtensionMethods | None = None
        self.announcements = LifecycleNotifications(clients)
        self.played = PlayedTurns()
        self.intercept_server_request: Callable[[str | None, Raw, str, Raw], bool] = _ask_clients
        """Whether a question of the agent is the daemon's own to answer; then it does, and no client is asked."""
        self.handles = Handles(clients, link, identity)
        self.questions = PendingServerRequests(clients, lambda: link.peer, self._question_opened, self._question_closed)

    def set_routes(self, own: ExtensionMethods, handlers: dict[str, Handler], forward: Handler) -> None:
        """Set what handles requests: our own methods, the app-server methods we speak for, and the way to Codex."""
        self._own, self._handlers, self._forward = own, handlers, forward

    def start(self, tasks: TaskGroup) -> None:
        """Handle requests in `tasks` and tell followers of events."""
        self._tasks = tasks
        self._engine.subscribe(self._on_record)
        self._engine.subscribe(self.announcements.on_record)

    # --- the connection's side ------------------------------------------------------------------------------------

    async def serve(self, connection: Connection, handshake_deadline_s: float | None) -> None:
        """Talk to one client until it is gone; one that has not begun to introduce itself by then is sent away."""
        client = self._clients.add(connection)
        try:
            with structlog.contextvars.bound_contextvars(client=client.id), initialize_deadline(client, handshake_deadline_s):
                await connection.run()
        finally:
            self._clients.remove(client)
            self.handles.release(client)
            self.questions.client_left()
            self._in_flight.pop(client.id, None)

    def on_message(self, connection: Connection, decoded: jsonrpc.Decoded) -> None:
        """Take one frame of a client."""
        client = self._clients.of(connection)
        members = decoded.members if isinstance(decoded, jsonrpc.Batch) else (decoded,)
        client.versioned = client.versioned or any(member.versioned for member in members)
        if isinstance(decoded, jsonrpc.Batch):
            self._on_batch(client, decoded)
        else:
            self._on_request(client, decoded, connection.answer)

    def _on_batch(self, client: Client, batch: jsonrpc.Batch) -> None:
        expected = sum(wants_answer(member) for member in batch.members)
        answers: list[bytes] = []

        def collect(answer: bytes) -> None:
            answers.append(answer)
            if len(answers) == expected:
                client.connection.answer(jsonrpc.encode_batch(answers))

        for member in batch.members:
            self._on_request(client, member, collect)

    def _on_request(self, client: Client, message: jsonrpc.Message, send: Callable[[bytes], None]) -> None:
        match message:
            case jsonrpc.Request():
                self._begin(ClientRequest(client, message, send))
            case jsonrpc.Notification(method="initialized") | jsonrpc.Notification():
                pass  # `initialized` ends the handshake; Codex knows no other notification of a client
            case jsonrpc.Response() | jsonrpc.ErrorResponse():
                self._on_answer(client, message)
            case jsonrpc.Invalid() if message.answerable:
                send(
                    jsonrpc.encode_error(
                        message.id, message.code, f"This is no message: {message.message}.", versioned=message.versioned
                    )
                )
            case jsonrpc.Invalid():
                log.info("bad_answer_ignored", client=client.id, detail=message.message)

    def _begin(self, client_request: ClientRequest) -> None:
        assert self._tasks is not None
        self._clients.requests += 1
        client_id = client_request.client.id
        if self._in_flight.get(client_id, 0) >= self._max_requests:
            client_request.refuse(
                Refusal(Reason.OVERLOADED, f"More than {self._max_requests} requests are under way.", "Wait for answers first.")
            )
            return
        self._in_flight[client_id] = self._in_flight.get(client_id, 0) + 1
        self._tasks.start_soon(self._handle, client_request)

    async def _handle(self, client_request: ClientRequest) -> None:
        client_id = client_request.client.id
        try:
            with structlog.contextvars.bound_contextvars(client=client_id, method=client_request.method):
                await self._answer(client_request)
        finally:
            if client_id in self._in_flight:
                self._in_flight[client_id] -= 1

    async def _answer(self, client_request: ClientRequest) -> None:
        try:
            result = await self._result_of(client_request)
            client_request.answer(result)
        except Exception as error:  # the boundary where exceptions become error objects
            client_request.refuse(self._identity.error_to_client(error))

    async def _result_of(self, client_request: ClientRequest) -> Any:
        assert self._own is not None
        assert self._forward is not None
        if client_request.method == "initialize":
            return await self._initialize(client_request)
        await require_initialized(client_request.client)
        if self._own.owns(client_request.method):
            return await self._call_own(client_request, self._own)
        await self._experimental.check(client_request)
        client_request.message = resolve_working_directory(client_request.message, client_request.client.connection.folder)
        return await self._handlers.get(client_request.method, self._forward)(client_request)

    async def _initialize(self, client_request: ClientRequest) -> None:
        await self._handshake.initialize(client_request)
        self._greetings.to(client_request.client)
        self.questions.resend_pending(client_request.client, None, again=False)

    async def _call_own(self, client_request: ClientRequest, own: ExtensionMethods) -> None:
        call = Call(client_request.client)
        answer = await own.call(client_request.method, client_request.message.params, call)
        if answer.error is not None:
            client_request.refuse_with(answer.error)
            return
        # Entries hold items as Codex gave them, and those can name provider threads.
        client_request.answer(self._identity.to_client(msgspec.json.encode(answer.result)))
        for step in call.after:
            step()

    def _on_answer(self, client: Client, message: jsonrpc.Response | jsonrpc.ErrorResponse) -> None:
        key = jsonrpc.id_key(message.id)
        try:
            known = isinstance(key, str) and self.questions.answered(client, key, message)
        except ProviderFailure as error:
            log.warning("answer_not_delivered", client=client.id, detail=str(error))
            return
        if not known:
            request_id = key if isinstance(key, str | int) else None
            client.notify("sidecar/answerIgnored", AnswerIgnored(reason=Reason.REQUEST_EXPIRED, request_id=request_id))
            log.info("answer_to_no_question", client=client.id)

    # --- Codex's side (`trimpoint.codex.notifications.client_sink.Audience`) ---

    def publish(self, thread_id: str | None, method: str, line: bytes) -> None:
        """Pass a notification of Codex on to those who should hear it."""
        about = thread_id if thread_id is not None else _thread_in(line)
        if method == QUESTION_RESOLVED and about is not None:
            request_id = msgspec.json.decode(line, type=_Resolved).params.request_id
            self.questions.resolved_by_provider(bytes(request_id), about)
        elif thread_id is not None:
            self._clients.broadcast(thread_id, method, lambda: self._identity.notification_to_client(method, line))
            if method == "turn/completed":
                turn_id = as_dict(_params_of(line).get("turn")).get("id")
                self.questions.expire_turn(thread_id, self._identity.turn_of(str(turn_id)))
        elif not self.handles.route_notification(method, line):
            self._greetings.note(method, line)
            audience = about if self._clients.is_private(about) else None
            self._clients.broadcast(audience, method, lambda: self._identity.to_client(line))

    def publish_compaction(self, thread_id: str, method: str, line: bytes) -> None:
        """Pass on what Codex says of the turn of a compaction; where a command was typed, that command's turn is the only one."""
        shown = self.played.as_its_own(thread_id, method, line)
        if shown is not None:
            self.publish(thread_id, method, shown)

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Pass on a run of notifications that begin alike, to the end of their thread id: joined once, written to many."""
        self._clients.broadcast(thread_id, method, lambda: self._identity.run_to_client(method, lines))

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None:
        """Put a question of the agent to clients, unless it is one of ours to answer."""
        if self.intercept_server_request(thread_id, request_id, method, params):
            return
        about = thread_id if thread_id is not None else _thread_named(params)
        to_everyone = thread_id is None and not self._clients.is_private(about)
        shown = self._identity.to_client(bytes(params)) or b"{}"
        self.questions.ask(about, request_id, method, shown, to_everyone=to_everyone)

    def expire_server_requests(self, reason: str) -> None:
        """The child that asked is gone."""
        self._greetings.forget()
        self.handles.forget_epoch()
        self.questions.expire_all(reason)

    def _question_opened(self, thread_id: str, question_id: str, method: str) -> None:
        if (writer := self._engine.loaded(thread_id)) is not None:
            writer.record_facts(ev.RequestOpened(question_id, method))

    def _question_closed(self, thread_id: str, question_id: str, outcome: str) -> None:
        if (writer := self._engine.loaded(thread_id)) is not None:
            writer.record_facts(ev.RequestClosed(question_id, outcome))

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        followers = [client for client in self._clients.followers(thread_id) if FOLLOWED not in client.opted_out]
        if not followers:
            return
        for envelope in envelopes(thread_id, record):
            line = self._identity.to_client(msgspec.json.encode({"method": FOLLOWED, "params": envelope}))
            Delivery(FOLLOWED, partial(bytes, line)).to(followers)


def _ask_clients(thread_id: str | None, request_id: Raw, method: str, params: Raw) -> bool:
    return False


def _thread_in(line: bytes) -> str | None:
    head = jsonrpc.peek_notification(line)
    return head.params.thread_id if head is not None else None


def _thread_named(params: Raw) -> str | None:
    """The thread that a question is about, where Codex says so."""
    named = as_dict(msgspec.json.decode(params)).get("threadId") if params else None
    return named if isinstance(named, str) else None


def _params_of(line: bytes) -> dict[str, Any]:
    return as_dict(as_dict(msgspec.json.decode(line)).get("params"))
