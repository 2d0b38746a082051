"""The table of REST operations, from which the router and the OpenAPI document are made."""

from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol import methods as m
from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.readmodel import ContextStatus, OrchestrationThread
from trimpoint_protocol.shapes.stats import Grouping, RowCount, Stats

from trimpoint.http.rest.command_body import CommandBody

BASE = "/api/v1"


class TimelineQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query of a timeline. `expand`: ids of trim points whose pruned entries are included,
    separated by commas, or `all`.
    """

    limit: m.PageSize | None = None
    cursor: str | None = None
    expand: str | None = None


class StatsQuery(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The query of the sums over all threads. `sinceMs`: milliseconds since the epoch."""

    by: Grouping | None = None
    since_ms: int | None = None
    limit: RowCount | None = None


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query of an event stream. `after` is the sequence number of the last known event; the
    header `Last-Event-ID` takes precedence.
    """

    after: int | None = None


class ThreadList(msgspec.Struct):
    """All threads, the most recently used first."""

    threads: list[m.ThreadOverview]


class LoginBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /login`: the code of an address that logs a browser in."""

    code: str


class LoggedIn(msgspec.Struct):
    """What proves from then on that a browser is the person's: as a bearer, or behind
    `trimpoint.login.` as a subprotocol of a WebSocket.
    """

    login: str


class Operation(NamedTuple):
    """A row of the table. `streams`: it can answer with server-sent events; if `result` is None it
    always does.
    """

    id: str
    method: str
    path: str
    summary: str
    result: Any = None
    body: Any = None
    query: type[msgspec.Struct] | None = None
    streams: bool = False

    @property
    def segments(self) -> list[str]:
        """Returns the segments of the path; those in braces are parameters."""
        return self.path.strip("/").split("/")


OPERATIONS: dict[str, Operation] = {
    operation.id: operation
    for operation in (
        Operation(
            "listCommands",
            "GET",
            f"{BASE}/commands",
            "The slash commands there are.",
            m.CommandList,
        ),
        Operation(
            "executeCommand",
            "POST",
            f"{BASE}/commands/{{name}}",
            "Carry out a slash command and answer when it has ended.",
            m.CommandOutcome,
            CommandBody,
            streams=True,
        ),
        Operation(
            "listThreads", "GET", f"{BASE}/threads", "An overview of all threads.", ThreadList
        ),
        Operation(
            "readThread",
            "GET",
            f"{BASE}/threads/{{threadId}}",
            "The state of a thread.",
            OrchestrationThread,
        ),
        Operation(
            "readTimeline",
            "GET",
            f"{BASE}/threads/{{threadId}}/timeline",
            "A thread's history as a person reads it, a page at a time from the newest.",
            m.TimelinePage,
            query=TimelineQuery,
        ),
        Operation(
            "readContext",
            "GET",
            f"{BASE}/threads/{{threadId}}/context",
            "How full the agent's context is.",
            ContextStatus,
        ),
        Operation(
            "streamEvents",
            "GET",
            f"{BASE}/threads/{{threadId}}/events",
            "A thread's events as they happen, replayed after `Last-Event-ID` without a gap or a "
            "repeat.",
            query=EventsQuery,
            streams=True,
        ),
        Operation(
            "dispatchCommand",
            "POST",
            f"{BASE}/threads/{{threadId}}/dispatch",
            "Give a thread a command; answered once it is durable.",
            m.DispatchResult,
            AnyClientCommand,
        ),
        Operation(
            "readStats",
            "GET",
            f"{BASE}/stats",
            "What the model calls of all threads took.",
            Stats,
            query=StatsQuery,
        ),
        Operation("readOpenApi", "GET", f"{BASE}/openapi.json", "This document.", dict[str, Any]),
        Operation(
            "readMetrics", "GET", "/metrics", "What the daemon counts about itself, for Prometheus."
        ),
        Operation("readHealth", "GET", "/healthz", "Whether the process answers."),
        Operation("readReadiness", "GET", "/readyz", "Whether clients can be served."),
        Operation(
            "login", "POST", "/login", "Swap a one-time code for a login.", LoggedIn, LoginBody
        ),
    )
}


class Match(NamedTuple):
    """The operation of a request, and the parameters in its path."""

    operation: Operation
    parameters: dict[str, str]


def match(method: str, path: str) -> Match | frozenset[str]:
    """Returns the operation for a request, or else the methods that its path supports; an empty set
    if there is no such path.
    """
    segments = path.strip("/").split("/")
    found = [
        (operation, p)
        for operation in OPERATIONS.values()
        if (p := _parameters(operation, segments)) is not None
    ]
    for operation, parameters in found:
        if operation.method == method or (
            operation.method == "GET" and method == "HEAD" and not operation.streams
        ):
            return Match(operation, parameters)
    return frozenset(operation.method for operation, _ in found)


def _parameters(operation: Operation, segments: list[str]) -> dict[str, str] | None:
    if len(operation.segments) != len(segments):
        return None
    parameters: dict[str, str] = {}
    for wanted, given in zip(operation.segments, segments, strict=True):
        if wanted.startswith("{"):
            parameters[wanted[1:-1]] = given
        elif wanted != given:
            return None
    return parameters
