"""Commands to another machine, and its answers, as they are sent."""

from typing import Annotated, Literal

import msgspec
from trimpoint_protocol.methods import CommandOutcome

Method = Literal["clear", "compact", "interrupt"]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class FleetCommand(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A command to the host that has the thread.

    The same `commandId` again gets the stored answer. `keep` and `guidance` are those of `/clear`
    and `/compact`. After `deadline_s` seconds the sender no longer waits.
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
