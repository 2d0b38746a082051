"""Parameters and results of the methods about the threads of other machines (docs/fleet.md)."""

from typing import Annotated, Literal

import msgspec

from trimpoint_protocol.readmodel import EventEnvelope
from trimpoint_protocol.shapes.structs import Params, Result

__all__ = [
    "MAX_FLEET_EVENTS",
    "FleetCommandName",
    "FleetEventsParams",
    "FleetEventsResult",
    "FleetExecuteParams",
    "FleetOverview",
    "FleetThread",
    "HostPresence",
    "ThreadOnHost",
]

MAX_FLEET_EVENTS = 1000
FleetCommandName = Literal["clear", "compact", "interrupt"]


class HostPresence(Result, frozen=True, kw_only=True):
    """A connected host. `behind` counts threads whose newest events the hub does not have yet,
    `notMirrored` threads that it does not receive; `content` is how much of a conversation the host
    sends.
    """

    host: str
    version: str
    since: str
    at: str
    content: str
    threads: int
    busy: int
    behind: int
    not_mirrored: int


class FleetThread(Result, frozen=True, kw_only=True):
    """The overview of a thread; `title` and `cwd` are there only if its host sends titles. `asks`:
    it waits for an answer of a person.
    """

    id: str
    archived: bool
    updated_at: str
    generation: int
    busy: str | None = None
    level: str | None = None
    used_tokens: int | None = None
    window_tokens: int | None = None
    percent: float | None = None
    turns: int | None = None
    trims: int | None = None
    compactions: int | None = None
    title: str | None = None
    cwd: str | None = None
    asks: bool = False


class ThreadOnHost(FleetThread, frozen=True, kw_only=True):
    """A thread, its host, and whether that host is connected."""

    host: str
    online: bool


class FleetOverview(Result, frozen=True, kw_only=True):
    """The hosts and threads of a team.

    `host` is the name of this machine. `person` is the person of the daemon's `person_credentials`;
    null where the daemon shows no fleet. `mayCommand`: that person may clear, compact and
    interrupt. The newest thread comes first.
    """

    host: str | None = None
    person: str | None = None
    may_command: bool = False
    hosts: list[HostPresence]
    threads: list[ThreadOnHost]


class FleetEventsParams(Params, frozen=True, kw_only=True):
    """Names a thread on a host; `limit` is the number of newest events wanted."""

    host: str
    thread_id: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_FLEET_EVENTS)] = 200


class FleetEventsResult(Result, frozen=True, kw_only=True):
    """Events as the hub has them, oldest first; `earlier` counts older ones that are left out."""

    events: list[EventEnvelope]
    earlier: int


class FleetExecuteParams(Params, frozen=True, kw_only=True):
    """A command for a thread on another host. A repeated `commandId` is carried out once."""

    host: str
    thread_id: str
    command: FleetCommandName
    command_id: str
    keep: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    guidance: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
