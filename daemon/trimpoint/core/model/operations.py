"""The phases of operations, and the table of which phase may follow which (docs/spec/model.md)."""

from enum import StrEnum


class Phase(StrEnum):
    """A phase of an operation. `READY`, `FAILED` and `CANCELLED` end it; after `CANCELLED` nothing
    has changed.
    """

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


DELETE = "delete"
"""The kind of an operation that deletes what Codex has of a thread."""

FILL = "fill"
"""The kind of an operation that gives a new Codex thread its context. A daemon that finds one open
deletes the thread: it may be filled in part, and nobody was told of it.
"""

DRAFT = "draft"
"""The kind of an operation that drafts a summary, which changes nothing before it is accepted."""

HANDOFF = "handoff"
"""The kind of an operation that drafts the brief of a new thread."""

SUMMARIZING = frozenset({"compact", DRAFT, HANDOFF})
"""The kinds of operations for which the model writes, asked by a person or as configured."""

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
    Phase.COMPACTING: frozenset(
        {Phase.STOPPING, Phase.RETRYING, Phase.READY, Phase.FAILED, Phase.CANCELLED}
    ),
    Phase.CHECKPOINTING: frozenset({Phase.STARTING, Phase.RESTORING, Phase.FAILED}),
    Phase.STOPPING: frozenset({Phase.STARTING, Phase.READY, Phase.FAILED}),
    # If the daemon died while starting or bootstrapping, the operation starts over: whether the
    # items were injected cannot be known.
    Phase.STARTING: frozenset(
        {Phase.STARTING, Phase.BOOTSTRAPPING, Phase.RESTORING, Phase.READY, Phase.FAILED}
    ),
    Phase.BOOTSTRAPPING: frozenset({Phase.STARTING, Phase.READY, Phase.FAILED}),
    # Files are written in this phase; if the daemon dies, the next one writes the rest.
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
    """Returns whether an operation may go from the phase `current` to the phase `following`."""
    return following in SUCCESSORS[current]
