"""The commands to another machine, and its answers."""

from typing import Annotated, Literal

import msgspec
from trimpoint_protocol.methods import CommandOutcome

Method = Literal["clear", "compact", "interrupt"]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class FleetCommand(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A command to the host that has the thread.

    A repeated `commandId` gets the stored answer. `keep` and `guidance` are the arguments of
    `/clear` and `/compact`. The sender waits `deadline_s` seconds.
    """

    thread_id: Identifier
    command_id: Identifier
    keep: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    guidance: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    deadline_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0


class FleetAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """An answer of the host. `begun`: the host has accepted the command, and another answer
    follows. `done` has the outcome; `refused` says why nothing was done; `unfinished`: the deadline
    has passed and the command still runs.
    """

    kind: Literal["begun", "done", "refused", "unfinished"]
    outcome: CommandOutcome | None = None
    reason: str = ""
    message: str = ""
    hint: str = ""
