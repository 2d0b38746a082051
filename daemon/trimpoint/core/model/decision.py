"""Defines the parts of a decision: who may refuse and why, and the one predicate of a busy thread.

Rules stand in `decider.py` and the modules it hands commands on to; they all answer in these words.
"""

from typing import Literal, NamedTuple

import msgspec
from trimpoint_protocol.errors import BlockerKind, Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Operation, Pending, ThreadState


class Stamp(NamedTuple):
    """Time and identity for one decision: milliseconds since the epoch, and an id unique in the
    world.
    """

    now_ms: int
    id: str


class DiscardPolicy(msgspec.Struct, frozen=True):
    """`floor_tokens`: no discard leaves less. `target_tokens`: where `/compress` stops by
    default.
    """

    floor_tokens: int = 30_000
    target_tokens: int = 50_000


class SummarizerPolicy(msgspec.Struct, frozen=True):
    """The model that writes summaries, where it is not the thread's own: `by_model` for threads of
    a model, else `model`; with `effort`.
    """

    model: str | None = None
    effort: str | None = None
    by_model: dict[str, str] = {}

    def model_for(self, model: str | None) -> str | None:
        """Returns the summarizer of a thread with that model."""
        return self.by_model.get(model or "", self.model)


class Policy(msgspec.Struct, frozen=True):
    """Configured rules. `min_messages`: fewer than this and `/compact` has too little to summarize.

    `overflow_recovery`: whether a turn that did not fit is tried again in a smaller context.
    `warning_at` and `critical_at` are shares of the window, `model_windows` its size in tokens
    where Codex does not say it, `provider_compacts_at` the number of tokens at which Codex is told
    to compact automatically, if it is told. `auto` says what is done about a critical context; a
    compaction of that kind keeps `preserve_recent_turns` turns, and was in vain when it freed less
    than `min_freed` of the window.
    """

    min_messages: int = 6
    overflow_recovery: bool = True
    warning_at: float = 0.70
    critical_at: float = 0.90
    model_windows: dict[str, int] = {}
    provider_compacts_at: int | None = None
    auto: Literal["off", "warn", "compact"] = "warn"
    preserve_recent_turns: int = 3
    min_freed: float = 0.10
    pins_share: float = 0.25
    summarizer: SummarizerPolicy = SummarizerPolicy()
    discard: DiscardPolicy = DiscardPolicy()


class BusyReason(NamedTuple):
    """The reason why a thread is busy."""

    kind: BlockerKind
    id: str
    since_ms: int
    detail: str


class Rejected(NamedTuple):
    """A rule says no. `message` is a sentence for a person."""

    reason: Reason
    message: str
    block: BusyReason | None = None


class Accepted(NamedTuple):
    """The events of an accepted command; `operation_id` if they belong to an operation."""

    events: tuple[ev.AnyEvent, ...]
    operation_id: str | None = None


Decision = Accepted | Rejected

SUB_AGENT = "subAgent"
"""What an open request is called that stands for a sub-agent at work."""

_BUSY_REASONS = {
    "turn": Reason.TURN_IN_PROGRESS,
    "operation": Reason.ALREADY_IN_PROGRESS,
    "request": Reason.REQUEST_PENDING,
}


def busy(state: ThreadState) -> BusyReason | None:
    """Returns why a thread is busy, None when it is not. Nothing else decides this.

    A turn requested, starting or running, an open operation, an unanswered question of the agent.
    """
    if (operation := state.open_operation) is not None:
        return BusyReason("operation", operation.id, operation.started_at_ms, operation.kind)
    if state.running_turn_id is not None:
        turn = state.turns[state.turn_index[state.running_turn_id]]
        return BusyReason("turn", turn.id, turn.started_at_ms, "running")
    if state.turn_requests:
        first = _first(state.turn_requests)
        return BusyReason("turn", first.id, first.since_ms, "starting")
    if state.pending_requests:
        first = _first(state.pending_requests)
        return BusyReason("request", first.id, first.since_ms, first.what)
    return None


def _first(pending: dict[str, Pending]) -> Pending:
    return next(iter(pending.values()))


def when_idle(state: ThreadState, verb: str) -> Rejected | None:
    """Returns why the thread cannot be changed now (`verb` says how), or None when it can."""
    if state.archived and verb != "archive":
        went_on = (
            f" It continues as the thread {state.new_thread_id}."
            if state.new_thread_id is not None
            else ""
        )
        return Rejected(
            Reason.THREAD_ARCHIVED, f"The thread is archived; unarchive it to {verb} it.{went_on}"
        )
    if (block := busy(state)) is None:
        return None
    waits = (
        "a sub-agent is still at work"
        if block.detail == SUB_AGENT
        else f"the agent waits for an answer ({block.detail})"
    )
    what = {
        "turn": "a turn is running",
        "operation": f"its {block.detail} operation is still under way",
        "request": waits,
    }[block.kind]
    return Rejected(_BUSY_REASONS[block.kind], f"Cannot {verb} the thread now: {what}.", block)


def counted(count: int, noun: str) -> str:
    """Returns `count` and its noun: `1 turn`, `2 turns`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def operation_under_way(state: ThreadState, operation_id: str) -> Operation | None:
    """Returns the open operation, if it is that one."""
    operation = state.open_operation
    return operation if operation is not None and operation.id == operation_id else None
