"""Reads the messages of clients and answers their requests.

Always true: a message of a client can fail only its own request, and each request is answered
exactly once.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, assert_never

import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import USE_PROFILE, AnswerIgnored, ProfileChosen, ProfileParams
from trimpoint_protocol.peer import Answered, Asked, Refused, Unexpected, Unreadable

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.ids.named_thread import named_thread
from trimpoint.gateway.ids.working_directory import resolve_working_directory
from trimpoint.gateway.profiles import RunningProfile, RunningProfiles
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.handshake import (
    Handshake,
    begun_handshake,
    initialize_deadline,
    require_initialized,
)
from trimpoint.gateway.session.requests.dispatch import Call, ExtensionMethods, get_ready
from trimpoint.gateway.session.requests.encoding import (
    encoded_and_freed,
    encoded_in_pieces,
    is_long,
)
from trimpoint.gateway.session.requests.errors import Refusal, WireError, as_wire_error
from trimpoint.gateway.session.requests.experimental_gate import ExperimentalGate
from trimpoint.gateway.session.requests.request import ClientRequest, Handler, members_of
from trimpoint.gateway.session.requests.sizes import CHECKED_BYTES, check_sizes
from trimpoint.threads.off_loop import beside_the_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage

log = structlog.get_logger()

DAEMON_PREFIX = "sidecar/"


class Routes(NamedTuple):
    """The handlers: those of trimpoint's own methods, those of app-server methods, and `forward`
    for all other methods.
    """

    extensions: ExtensionMethods
    handlers: dict[str, Handler]
    forward: Handler


class ProfileRoutes(NamedTuple):
    """The handlers of requests to the Codex of one launch profile."""

    profile: RunningProfile
    routes: Routes
    handshake: Handshake
    experimental: ExperimentalGate


class Profiles(Protocol):
    """The launch profiles, and the routes of each."""

    @property
    def running(self) -> RunningProfiles:
        """Returns the launch profiles whose Codex is running."""
        ...

    @property
    def default(self) -> ProfileRoutes:
        """Returns the routes of the daemon's own launch profile."""
        ...

    def key_of(self, launch: bytes) -> str:
        """Returns the key of the launch profile for an encoded launch request; empty for the
        daemon's own.
        """
        ...

    def choose(self, params: ProfileParams) -> bytes:
        """Returns a client's launch request, encoded as in journals.

        :raises Refusal: when the request cannot be fulfilled.
        """
        ...

    def chosen(self, key: str) -> ProfileChosen:
        """Returns the answer for a client that has chosen the launch profile with this key."""
        ...

    def using(self, launch: bytes) -> AbstractAsyncContextManager[ProfileRoutes]:
        """Yields the routes of a launch request's profile. Starts its Codex if necessary, and keeps
        it running until the block ends.

        :raises Refusal: when too many other profiles are in use.
        """
        ...


class Gateway:
    """Reads the messages of clients and answers their requests, each in its own task.

    A request that names a thread of ours goes to the Codex of that thread, any other to the Codex
    of its client.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        clients: Clients,
        identity: Identity,
        profiles: Profiles,
        max_requests: int,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._clients = clients
        self._identity = identity
        self._profiles = profiles
        self._max_requests = max_requests
        self._in_flight: dict[str, int] = {}
        self._tasks = tasks

    # --- connections ---

    async def serve(
        self,
        connection: Connection,
        handshake_deadline_s: float,
        since: float | None = None,
        *,
        codex_home: str | None = None,
    ) -> None:
        """Serves one client until it disconnects. Closes its connection if it sends no `initialize`
        in time.

        The deadline counts in seconds from `since`, a time of the loop's clock, or from now.
        `codex_home` is the `CODEX_HOME` that the client logged in for, or None for the daemon's
        own.
        """
        client = self._clients.add(connection)
        if codex_home is not None:
            self._choose(client, ProfileParams(codex_home=codex_home))
        try:
            with (
                structlog.contextvars.bound_contextvars(client=client.id),
                initialize_deadline(client, handshake_deadline_s, since),
            ):
                await connection.run()
        finally:
            self._clients.remove(client)
            for profile in self._profiles.running:
                profile.handles.release(client)
                profile.server_requests.client_left()
                profile.own_questions.client_left(client)
            self._in_flight.pop(client.id, None)

    def on_message(self, connection: Connection, message: ClientMessage) -> None:
        """Handles one message of a client."""
        client = self._clients.of(connection)
        match message:
            case Asked():
                self._begin(ClientRequest(client, message))
            case Unexpected(answer):
                self._on_answer(client, answer)
            case Unreadable(problem) if message.is_owed:
                text = f"This is not a valid message: {problem.message}."
                connection.refuse(message, WireError(problem.code, text).encode())
            case Unreadable(problem):
                log.info("bad_answer_ignored", client=client.id, detail=problem.message)
            case jsonrpc.Notification():
                # `initialized` ends the handshake; Codex knows no other notification of a client.
                pass
            case Answered() | Refused():
                pass  # a connection's peer sends no requests of its own
            case _:
                assert_never(message)

    def _begin(self, client_request: ClientRequest) -> None:
        self._clients.roster.requests += 1
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
        spawn(self._tasks, self._handle, client_request)

    async def _handle(self, client_request: ClientRequest) -> None:
        client_id = client_request.client.id
        try:
            with structlog.contextvars.bound_contextvars(
                client=client_id, method=client_request.method
            ):
                client_request.answer(await self._result_of(client_request))
        except Exception as error:  # the boundary where exceptions become error objects
            client_request.refuse(self._identity.error_to_client(error))
        finally:
            if client_id in self._in_flight:
                self._in_flight[client_id] -= 1

    async def _result_of(self, client_request: ClientRequest) -> Any:
        client = client_request.client
        if client_request.method == USE_PROFILE and client.handshake is None:
            return self._use_profile(client_request)
        if client_request.method == "initialize":
            spawn(self._tasks, get_ready)  # meanwhile Codex starts
            with begun_handshake(client):
                return await self._carry_out(client_request)
        await require_initialized(client)
        return await self._carry_out(client_request)

    async def _carry_out(self, client_request: ClientRequest) -> Any:
        client = client_request.client
        size_bytes = len(client_request.message.wire)
        if size_bytes > CHECKED_BYTES:
            check_sizes(client_request.method, size_bytes, client_request.members())
        await client_request.let_others_on()
        async with self._profiles.using(self._launch_of(client_request)) as served:
            if client_request.method == "initialize":
                return await self._initialize(served, client_request)
            if served.routes.extensions.owns(client_request.method):
                call = Call(client)
                method, params = client_request.method, client_request.message.params
                answer = await self._extension_result(served, method, params, call)
                return _send_extension_answer(client_request, call, answer)
            await served.experimental.check(client_request)
            await client_request.let_others_on()
            client_request.message = resolve_working_directory(
                client_request.message, client.connection.folder
            )
            await client_request.let_others_on()
            handler = served.routes.handlers.get(client_request.method, served.routes.forward)
            return await handler(client_request)

    def _launch_of(self, client_request: ClientRequest) -> bytes:
        """Returns the encoded launch request whose Codex serves a client's request."""
        for profile in self._profiles.running:
            if profile.handles.is_to_cancel(client_request):
                return profile.request.encode()
        return self._launch_for(client_request.message.params, client_request.client.launch)

    def _launch_for(self, params: msgspec.Raw | None, otherwise: bytes) -> bytes:
        """Returns the encoded launch request of the thread that the parameters name, or `otherwise`
        if it is not a thread of ours or of a sub-agent.
        """
        if not self._registry.launches and not otherwise:
            return b""
        named = named_thread(params)
        thread_id = self._identity.thread_of(named) if named is not None else None
        if thread_id is None:
            of_agent = (one for one in self._profiles.running if named and one.is_sub_agent(named))
            return next((profile.request.encode() for profile in of_agent), otherwise)
        return self._registry.launches.get(thread_id, b"")

    def _use_profile(self, client_request: ClientRequest) -> Any:
        client = client_request.client
        if not client.connection.is_local:
            raise Refusal(
                Reason.NOT_SUPPORTED, "Only clients of the Unix socket have a profile of their own."
            )
        self._choose(client, msgspec.convert(client_request.params(), ProfileParams))
        return self._profiles.chosen(client.profile)

    def _choose(self, client: Client, params: ProfileParams) -> None:
        client.launch = self._profiles.choose(params)
        client.profile = self._profiles.key_of(client.launch)

    async def _initialize(self, served: ProfileRoutes, client_request: ClientRequest) -> None:
        await served.handshake.initialize(client_request)
        served.profile.startup.to(client_request.client)
        served.profile.server_requests.resend_pending(client_request.client, None, again=False)

    async def call_extension(
        self, method: str, params: msgspec.Raw | None, call: Call
    ) -> bytes | WireError:
        """Runs one of trimpoint's own methods, and returns its result as JSON, or its error. The
        caller has to run `call.after`.
        """
        try:
            if params is not None and len(params) > CHECKED_BYTES:
                check_sizes(method, len(params), members_of(method, params))
            launch = self._launch_for(params, b"")
            with self._clients.serving():
                async with self._profiles.using(launch) as served:
                    return await self._extension_result(served, method, params, call)
        except Refusal as refusal:
            return as_wire_error(refusal)

    async def _extension_result(
        self, served: ProfileRoutes, method: str, params: msgspec.Raw | None, call: Call
    ) -> bytes | WireError:
        # Methods about the daemon are served by the default profile.
        routes = (
            self._profiles.default.routes if method.startswith(DAEMON_PREFIX) else served.routes
        )
        answer = await routes.extensions.call(method, params, call)
        if answer.error is not None:
            return answer.error
        # Entries hold items as Codex gave them, and those can name provider threads.
        if call.after:  # what is sent behind the answer follows from the present moment
            return self._identity.to_client(encoded_in_pieces(answer.result))
        results = [answer.result]
        del answer  # a long result is freed where it is encoded, not on the loop
        encoded = (
            await anyio.to_thread.run_sync(encoded_and_freed, results)
            if is_long(results[0])
            else encoded_in_pieces(results[0])
        )
        return await beside_the_loop(
            msgspec.Raw(encoded), lambda raw: self._identity.to_client(bytes(raw))
        )

    def _on_answer(self, client: Client, message: jsonrpc.Response | jsonrpc.ErrorResponse) -> None:
        key = jsonrpc.id_key(message.id)
        if isinstance(key, str) and any(
            profile.own_questions.answered(client, key, message)
            for profile in self._profiles.running
        ):
            return
        try:
            known = isinstance(key, str) and any(
                profile.server_requests.answered(client, key, message)
                for profile in self._profiles.running
            )
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


def _send_extension_answer(
    client_request: ClientRequest, call: Call, answer: bytes | WireError
) -> None:
    if isinstance(answer, WireError):
        client_request.refuse_with(answer)
        return
    client_request.answer(answer)
    for step in call.after:
        step()
