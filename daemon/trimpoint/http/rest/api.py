"""Answers REST operations by calling the JSON-RPC methods, so that each rule exists once."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from trimpoint_protocol import methods as m
from trimpoint_protocol.errors import Reason

from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.gateway.session.requests.errors import Refusal, WireError, as_wire_error, wire_error
from trimpoint.gateway.session.requests.sizes import CHECKED_BYTES, check_sizes
from trimpoint.http import event_stream
from trimpoint.http.exchange import JSON, Request, Response
from trimpoint.http.problems import HttpReason, Problem, problem, problem_of
from trimpoint.http.rest.command_body import CommandBody, NoSuchMember, typed
from trimpoint.http.rest.operations import EventsQuery, StatsQuery, TimelineQuery
from trimpoint.threads.ids import new_uuid7
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.limits import Limits

T = TypeVar("T")

_LINE = msgspec.json.Encoder()
_MAX_DIGITS = 20
_LAST_SEQUENCE = 2**63 - 1


class Methods(Protocol):
    """Calls trimpoint's own methods through the gateway."""

    async def call_extension(
        self, method: str, params: msgspec.Raw | None, call: Call
    ) -> bytes | WireError:
        """Calls a method and returns its result as JSON, or the error."""
        ...


class Refused(Exception):
    """Raised to answer a request with problem details."""

    def __init__(self, details: Problem) -> None:
        super().__init__(details.detail)
        self.details = details


class Exchange(NamedTuple):
    """A request that was allowed, the parameters in its path, and the stream to its client."""

    request: Request
    parameters: dict[str, str]
    transport: Transport


class HttpCaller:
    """The caller of methods for an HTTP request. It has no client session; `notify` receives
    notifications that come before the answer.
    """

    def __init__(self, notify: Callable[[str, Any], None], followed: dict[str, int]) -> None:
        self._notify = notify
        self.followed = followed
        self.has_notices = False
        self.launch = b""
        self.folder = None

    def notify(self, method: str, params: Any) -> None:
        """Passes on a notification that comes before the answer."""
        self._notify(method, params)

    def join(self, thread_id: str, *, raw_events: bool = False) -> None:
        """Does nothing: an HTTP request receives no later notifications."""


class Api:
    """The REST operations. `handlers` has one entry for each operation under `/api/v1`; a handler
    returns None if it has streamed the answer.
    """

    def __init__(
        self, methods: Methods, clients: Clients, limits: Limits, open_api: Callable[[], bytes]
    ) -> None:
        self._methods = methods
        self._clients = clients
        self._limits = limits
        self._open_api = open_api
        self.handlers: dict[str, Callable[[Exchange], Awaitable[Response | None]]] = {
            "listCommands": self._list_commands,
            "executeCommand": self._execute_command,
            "listThreads": self._list_threads,
            "readThread": self._read_thread,
            "readTimeline": self._read_timeline,
            "readContext": self._read_context,
            "readStats": self._read_stats,
            "streamEvents": self._stream_events,
            "dispatchCommand": self._dispatch,
            "readOpenApi": self._read_open_api,
        }

    async def _list_commands(self, exchange: Exchange) -> Response:
        return _json(await self._ask("commands/list", {}))

    async def _list_threads(self, exchange: Exchange) -> Response:
        found = msgspec.json.decode(await self._ask("orchestration/snapshot", {}), type=_Threads)
        return _json(b'{"threads":%b}' % bytes(found.threads))

    async def _read_thread(self, exchange: Exchange) -> Response:
        found = await self._ask("orchestration/snapshot", _thread(exchange))
        return _json(bytes(msgspec.json.decode(found, type=_Thread).thread))

    async def _read_timeline(self, exchange: Exchange) -> Response:
        query = _read(exchange.request, TimelineQuery)
        expand = query.expand if query.expand in (None, "all") else str(query.expand).split(",")
        page = {"limit": query.limit, "cursor": query.cursor, "expand": expand}
        return _json(await self._ask("timeline/read", {**_thread(exchange), **page}))

    async def _read_context(self, exchange: Exchange) -> Response:
        return _json(await self._ask("context/status", _thread(exchange)))

    async def _read_stats(self, exchange: Exchange) -> Response:
        query = _read(exchange.request, StatsQuery)
        asked = {"by": query.by or "thread", "sinceMs": query.since_ms, "limit": query.limit or 100}
        return _json(await self._ask("stats/read", asked))

    async def _dispatch(self, exchange: Exchange) -> Response:
        _check_size("orchestration/dispatch", exchange.request.body)
        command: dict[str, Any] = decoded_body(exchange.request, dict[str, msgspec.Raw])
        command = {"commandId": new_uuid7(), **command, **_thread(exchange)}
        return _json(await self._ask("orchestration/dispatch", {"command": command}))

    async def _read_open_api(self, exchange: Exchange) -> Response:
        return _json(self._open_api())

    async def _execute_command(self, exchange: Exchange) -> Response | None:
        name = exchange.parameters["name"]
        # Any: its members are made from the declarations of the commands.
        body: Any = decoded_body(exchange.request, CommandBody)
        if name not in REGISTRY:
            known = ", ".join(REGISTRY)
            raise Refused(
                problem(
                    HttpReason.NOT_FOUND,
                    f"There is no command {name[:40]!r}.",
                    f"There are: {known}.",
                )
            )
        if name == Help.command:
            return _json(_described(body.command, await self._ask("commands/list", {})))
        params = {
            "text": _typed(name, body),
            "threadId": body.session_id or body.thread_id,
            "commandId": body.command_id,
        }
        if exchange.request.wants_events:
            await self._stream_command(exchange, params)
            return None
        return _json(_checked(await self._ask("commands/execute", params)))

    async def _stream_command(self, exchange: Exchange, params: dict[str, Any]) -> None:
        connection = event_stream.event_connection(exchange.transport, self._limits)
        event_stream.begin(connection)

        async def produce() -> None:
            caller = HttpCaller(
                lambda method, step: _send(connection, method, _LINE.encode(step)), {}
            )
            try:
                outcome = _checked(await self._ask("commands/execute", params, Call(caller)))
            except Refused as refused:
                _send(connection, "problem", msgspec.json.encode(refused.details))
            else:
                _send(connection, "result", outcome)
            connection.close("it has its answer")

        await event_stream.run(connection, produce)

    async def _stream_events(self, exchange: Exchange) -> Response | None:
        after = _last_event(exchange.request)
        connection = event_stream.event_connection(exchange.transport, self._limits)
        # It takes no part in the handshake, so it is sent the events that it follows and nothing
        # else.
        client = self._clients.add(connection)
        try:
            call = Call(
                HttpCaller(
                    lambda method, step: _send(connection, method, _LINE.encode(step)),
                    client.followed,
                )
            )
            params = {**_thread(exchange), "afterSequence": after}
            subscribed = await self._ask("orchestration/subscribeThread", params, call)
            # Nothing waits between the subscription and here, so no event comes before the head.
            event_stream.begin(connection)
            if msgspec.json.decode(subscribed, type=_Subscribed).mode == "snapshot":
                _send(connection, "snapshot", subscribed)
            for step in call.after:
                step()
            await event_stream.run(connection, _nothing)
        finally:
            self._clients.remove(client)
        return None

    async def _ask(self, method: str, params: dict[str, Any], call: Call | None = None) -> bytes:
        """Calls a method and returns its result as JSON.

        :raises Refused: when the method refused.
        """
        given = msgspec.Raw(
            msgspec.json.encode(
                {name: value for name, value in params.items() if value is not None}
            )
        )
        answer = await self._methods.call_extension(
            method, given, call or Call(HttpCaller(_ignore, {}))
        )
        if isinstance(answer, WireError):
            raise Refused(problem_of(answer))
        return answer


class _Threads(msgspec.Struct):
    threads: msgspec.Raw


class _Thread(msgspec.Struct):
    thread: msgspec.Raw


class _Subscribed(msgspec.Struct):
    mode: str


class _Outcome(msgspec.Struct):
    status: str | None = None
    reason: Reason | None = None
    message: str = ""
    blocker: Any = None


def _json(body: bytes) -> Response:
    return Response(200, body, JSON)


def _send(connection: Connection, event: str, data: bytes) -> None:
    connection.send(b'{"method":%b,"params":%b}' % (msgspec.json.encode(event), data))


def _ignore(method: str, params: Any) -> None:
    """Drops a progress notification, because a plain answer cannot carry it."""


async def _nothing() -> None:
    """Produces nothing, because the events come from a subscription."""


def _thread(exchange: Exchange) -> dict[str, Any]:
    return {"threadId": exchange.parameters["threadId"]}


def _checked(outcome: bytes) -> bytes:
    """Returns the outcome of a command unless the command failed.

    :raises Refused: when the command failed, or the thread was busy.
    """
    found = msgspec.json.decode(outcome, type=_Outcome)
    if found.status != "failed" and found.blocker is None:
        return outcome
    details = problem_of(wire_error(found.reason or Reason.INTERNAL, found.message))
    raise Refused(msgspec.structs.replace(details, blocker=found.blocker))


def _described(command: str | None, commands: bytes) -> bytes:
    if command is None:
        return commands
    name = command.removeprefix("/").lower()
    chosen = [
        one
        for one in msgspec.json.decode(commands, type=m.CommandList).commands
        if one.name == name
    ]
    if not chosen:
        raise Refused(problem(HttpReason.NOT_FOUND, f"There is no command {command[:40]!r}."))
    return msgspec.json.encode(m.CommandList(commands=chosen))


def _typed(name: str, body: Any) -> str:
    """Returns the slash command that a person would type.

    :raises Refused: when the body has an argument that the command does not have.
    """
    try:
        return typed(REGISTRY[name], body)
    except NoSuchMember as unknown:
        message = f"/{name} has no {', '.join(unknown.names)}."
        usage = f"Its usage is {REGISTRY[name].usage()}."
        raise Refused(problem_of(wire_error(Reason.USAGE, message, usage))) from unknown


def _last_event(request: Request) -> int | None:
    header = request.headers.get("last-event-id", "")
    if header.isascii() and header.isdigit():
        return min(int(header[:_MAX_DIGITS]), _LAST_SEQUENCE)
    return _read(request, EventsQuery).after


def _check_size(method: str, command: bytes) -> None:
    """Returns if a command is no larger than its method takes, without decoding it.

    :raises Refused: when it is.
    """
    try:
        if len(command) > CHECKED_BYTES:
            check_sizes(method, len(command), {"command": msgspec.Raw(command)})
    except Refusal as refusal:
        raise Refused(problem_of(as_wire_error(refusal))) from refusal


def decoded_body(request: Request, shape: type[T]) -> T:
    """Returns the body, decoded as `shape`.

    :raises Refused: when the body is not JSON of that shape.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.body and content_type != JSON:
        # A form or a plain text is what a page of another site can send without being asked first.
        what = f"is {content_type[:60]!r}" if content_type else "has no Content-Type"
        raise Refused(problem(HttpReason.BODY_NOT_JSON, f"The body {what}.", f"Send {JSON}."))
    try:
        return msgspec.json.decode(request.body or b"{}", type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            problem_of(wire_error(Reason.INVALID_PARAMS, f"The body is invalid: {error}."))
        ) from error


def _read(request: Request, shape: type[T]) -> T:
    """Returns the query, decoded as `shape`.

    :raises Refused: when it has not that shape.
    """
    try:
        return msgspec.convert(request.query, shape, strict=False)
    except (msgspec.ValidationError, ValueError) as error:  # the latter: too many members
        raise Refused(
            problem_of(wire_error(Reason.INVALID_PARAMS, f"The query is invalid: {error}."))
        ) from error
