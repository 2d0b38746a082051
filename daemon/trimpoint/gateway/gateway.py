"""Reads what clients send and answers their requests.

Always true: nothing that a client sends ends more than its own request, and each request is
answered exactly once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import structlog
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import AnswerIgnored

from trimpoint.codex.appserver.peer import ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.client_side import ClientSide
from trimpoint.gateway.ids.working_directory import resolve_working_directory
from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.dispatch import Call, ExtensionMethods
from trimpoint.gateway.session.errors import Refusal, WireError
from trimpoint.gateway.session.experimental_gate import ExperimentalGate
from trimpoint.gateway.session.handshake import Handshake, initialize_deadline, require_initialized
from trimpoint.gateway.session.request import ClientRequest, Handler
from trimpoint.gateway.transport.connection import Connection, wants_answer

log = structlog.get_logger()

LARGE_MESSAGE_BYTES = 256 * 1024


class Routes(NamedTuple):
    """The handlers: our own methods, the app-server methods that we handle, and forwarding for the
    rest.
    """

    extensions: ExtensionMethods
    handlers: dict[str, Handler]
    forward: Handler


class Gateway:
    """Reads the messages of clients and answers their requests, each in a task of its own."""

    def __init__(
        self,
        sides: ClientSide,
        link: CodexLink,
        routes: Routes,
        max_requests: int,
        tasks: TaskGroup,
    ) -> None:
        self._clients = sides.clients
        self._identity = sides.identity
        self._handles = sides.handles
        self._server_requests = sides.server_requests
        self._own_questions = sides.own_questions
        self._startup = sides.startup
        self._handshake = Handshake(link)
        self._experimental = ExperimentalGate(link)
        self._routes = routes
        self._max_requests = max_requests
        self._in_flight: dict[str, int] = {}
        self._tasks = tasks

    # --- the connection's side
    # ------------------------------------------------------------------------------------

    async def serve(
        self, connection: Connection, handshake_deadline_s: float, since: float | None = None
    ) -> None:
        """Talk to one client until it is gone; one that has not begun to introduce itself by then
        is sent away.

        `since` is when it connected, by the loop's clock; without it, now.
        """
        client = self._clients.add(connection)
        try:
            with (
                structlog.contextvars.bound_contextvars(client=client.id),
                initialize_deadline(client, handshake_deadline_s, since),
            ):
                await connection.run()
        finally:
            self._clients.remove(client)
            self._handles.release(client)
            self._server_requests.client_left()
            self._own_questions.client_left(client)
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

    def _on_request(
        self, client: Client, message: jsonrpc.Message, send: Callable[[bytes], None]
    ) -> None:
        match message:
            case jsonrpc.Request():
                self._begin(ClientRequest(client, message, send))
            case jsonrpc.Notification(method="initialized") | jsonrpc.Notification():
                # `initialized` ends the handshake; Codex knows no other notification of a client
                pass
            case jsonrpc.Response() | jsonrpc.ErrorResponse():
                self._on_answer(client, message)
            case jsonrpc.Invalid() if message.answerable:
                send(
                    jsonrpc.encode_error(
                        message.id,
                        message.code,
                        f"This is no message: {message.message}.",
                        versioned=message.versioned,
                    )
                )
            case jsonrpc.Invalid():
                log.info("bad_answer_ignored", client=client.id, detail=message.message)

    def _begin(self, client_request: ClientRequest) -> None:
        self._clients.requests += 1
        client_id = client_request.client.id
        if self._in_flight.get(client_id, 0) >= self._max_requests:
            client_request.refuse(
                Refusal(
                    Reason.OVERLOADED,
                    f"More than {self._max_requests} requests are under way.",
                    "Wait for answers first.",
                )
            )
            return
        self._in_flight[client_id] = self._in_flight.get(client_id, 0) + 1
        self._tasks.start_soon(self._handle, client_request)

    async def _handle(self, client_request: ClientRequest) -> None:
        client_id = client_request.client.id
        try:
            with structlog.contextvars.bound_contextvars(
                client=client_id, method=client_request.method
            ):
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
        if client_request.method == "initialize":
            return await self._initialize(client_request)
        await require_initialized(client_request.client)
        await _let_others_on(client_request)
        if self._routes.extensions.owns(client_request.method):
            return await self._answer_extension(client_request)
        await self._experimental.check(client_request)
        await _let_others_on(client_request)
        client_request.message = resolve_working_directory(
            client_request.message, client_request.client.connection.folder
        )
        await _let_others_on(client_request)
        return await self._routes.handlers.get(client_request.method, self._routes.forward)(
            client_request
        )

    async def _initialize(self, client_request: ClientRequest) -> None:
        await self._handshake.initialize(client_request)
        self._startup.to(client_request.client)
        self._server_requests.resend_pending(client_request.client, None, again=False)

    async def call_extension(
        self, method: str, params: msgspec.Raw | None, call: Call
    ) -> bytes | WireError:
        """Return the result of one of our own methods as JSON, or its error; running `call.after`
        is left to the caller.
        """
        answer = await self._routes.extensions.call(method, params, call)
        if answer.error is not None:
            return answer.error
        # Entries hold items as Codex gave them, and those can name provider threads.
        return self._identity.to_client(msgspec.json.encode(answer.result))

    async def _answer_extension(self, client_request: ClientRequest) -> None:
        call = Call(client_request.client)
        answer = await self.call_extension(
            client_request.method, client_request.message.params, call
        )
        if isinstance(answer, WireError):
            client_request.refuse_with(answer)
            return
        client_request.answer(answer)
        for step in call.after:
            step()

    def _on_answer(self, client: Client, message: jsonrpc.Response | jsonrpc.ErrorResponse) -> None:
        key = jsonrpc.id_key(message.id)
        if isinstance(key, str) and self._own_questions.answered(client, key, message):
            return
        try:
            known = isinstance(key, str) and self._server_requests.answered(client, key, message)
        except ProviderFailure as error:
            log.warning("answer_not_delivered", client=client.id, detail=str(error))
            return
        if not known:
            request_id = key if isinstance(key, str | int) else None
            client.notify(
                "sidecar/answerIgnored",
                AnswerIgnored(reason=Reason.REQUEST_EXPIRED, request_id=request_id),
            )
            log.info("answer_to_no_question", client=client.id)


async def _let_others_on(client_request: ClientRequest) -> None:
    """Yields to the event loop between two steps with a large message."""
    if len(client_request.message.wire) > LARGE_MESSAGE_BYTES:
        await checkpoint()
