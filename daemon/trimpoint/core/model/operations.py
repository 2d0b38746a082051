"""Operations as a table: which phase may follow which (docs/spec/model.md). Whatever decides on
phases reads it.
"""

from enum import StrEnum


class Phase(StrEnum):
    """The phase of an operation; `READY`, `FAILED` and `CANCELLED` (nothing has changed) end it."""

    REQUESTED = "requested"
    COMPACTING = "compacting"
    CHECKPOINTING = "checkpointing"
    STOPPING = "stopping"
    STARTING = "starting"
    BOOTSTRAPPING = "bootstrapping"
    RESTORING = "restoring"
    RETRYING = "retrying"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


SUCCESSORS: dict[Phase, frozenset[Phase]] = {
    Phase.REQUESTED: frozenset(
        {
            Phase.COMPACTING,
            Phase.CHECKPOINTING,
            Phase.STOPPING,
            Phase.STARTING,
            Phase.FAILED,
            Phase.CANCELLED,
        }
    ),
    Phase.COMPACTING: frozenset({Phase.STOPPING, Phase.RETRYING, Phase.FAILED, Phase.CANCELLED}),
    Phase.CHECKPOINTING: frozenset({Phase.STARTING, Phase.RESTORING, Phase.FAILED}),
    Phase.STOPPING: frozenset({Phase.STARTING, Phase.READY, Phase.FAILED}),
    # A daemon that died while starting or bootstrapping starts over: an injection cannot be told
    # from none.
    Phase.STARTING: frozenset(
        {Phase.STARTING, Phase.BOOTSTRAPPING, Phase.RESTORING, Phase.READY, Phase.FAILED}
    ),
    Phase.BOOTSTRAPPING: frozenset({Phase.STARTING, Phase.READY, Phase.FAILED}),
    # Files are written from here on; a daemon that died there finishes them.
    Phase.RESTORING: frozenset({Phase.READY, Phase.FAILED}),
    Phase.RETRYING: frozenset({Phase.READY, Phase.FAILED}),
    Phase.READY: frozenset(),
    Phase.FAILED: frozenset(),
    Phase.CANCELLED: frozenset(),
}


def is_open(phase: Phase) -> bool:
    """Returns whether an operation in this phase keeps its thread busy."""
    return bool(SUCCESSORS[phase])


def may_follow(current: Phase, following: Phase) -> bool:
    """Returns whether the table allows the step."""
    return following in SUCCESSORS[current]
