"""Commands to another machine, and its answers, as they are sent."""

from typing import Annotated, Literal

import msgspec
from trimpoint_protocol.methods import CommandOutcome

Method = Literal["clear", "compact", "interrupt"]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class FleetCommand(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A command to the host that has the thread.

    The same `commandId` again gets the stored answer. `keep` and `guidance` are those of `/clear`
    and `/compact`. After `deadline_s` seconds whoever asked no longer waits.
    """

    thread_id: Identifier
    command_id: Identifier
    keep: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    guidance: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    deadline_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0


class FleetAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """An answer. `begun`: the host has the command, another answer follows.

    `done` has the outcome; `refused` says why nothing was done; after `unfinished` the host goes on
    and the deadline is over.
    """

    kind: Literal["begun", "done", "refused", "unfinished"]
    outcome: CommandOutcome | None = None
    reason: str = ""
    message: str = ""
    hint: str = ""


class HostPresence(msgspec.Struct, frozen=True, rename="camel"):
    """A host that is there. `behind` counts threads whose newest events the hub has not yet."""

    host: str
    version: str
    since: str
    at: str
    content: str
    threads: int
    busy: int
    behind: int
    not_mirrored: int


class FleetThread(msgspec.Struct, frozen=True, rename="camel"):
    """The overview of a thread; `title` and `cwd` only where the host sends titles."""

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
