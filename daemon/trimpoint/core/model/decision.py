"""The types of a decision (accepted, rejected, and why), the configured policy, and the function
that decides whether a thread is busy.

The rules themselves are in `core/decide/decider.py` and the modules that it calls.
"""

from typing import NamedTuple

import msgspec
from trimpoint_protocol.commands import AutoMode
from trimpoint_protocol.errors import BlockerKind, Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import DELETE
from trimpoint.core.model.spelling import UNARCHIVE, Spelling, hint_text
from trimpoint.core.model.state import Operation, Pending, ThreadState


class Stamp(NamedTuple):
    """The time of a decision in milliseconds since the epoch, and a globally unique id for it."""

    now_ms: int
    id: str


class DiscardPolicy(msgspec.Struct, frozen=True):
    """The limits of discards in tokens: the active context never becomes smaller than
    `floor_tokens`, and `/compress` stops at `target_tokens` unless it is given another target. It
    masks nothing of the newest `keep_turns` turns.
    """

    floor_tokens: int = 30_000
    target_tokens: int = 50_000
    keep_turns: int = 3


class SummarizerPolicy(msgspec.Struct, frozen=True):
    """The configured model and effort for summaries. `by_model` maps a thread's model to its
    summarizer; `model` is for all others. None means the thread's own model or effort.
    """

    model: str | None = None
    effort: str | None = None
    by_model: dict[str, str] = {}

    def model_for(self, model: str | None) -> str | None:
        """Returns the summarizer for threads of `model`, or None if the thread's own model writes
        its summaries.
        """
        return self.by_model.get(model or "", self.model)


class CachePolicy(msgspec.Struct, frozen=True):
    """What the provider's cache of prompts costs. The prices are those of a token that is read from
    it, and of one that is written into it, as shares of an uncached one. `minutes` is how long it
    keeps what is not used.
    """

    cached_price: float = 0.1
    write_price: float = 1.0
    minutes: float = 10


class Policy(msgspec.Struct, frozen=True):
    """The configured rules.

    `/compact` needs at least `min_messages` messages to summarize. `overflow_recovery` says whether
    a turn that did not fit into the window is repeated in a smaller context. `warning_at` and
    `critical_at` are shares of the window from 0 to 1. `model_windows` are window sizes in tokens
    by model, for models whose window Codex does not report. `provider_compacts_at` is the number of
    tokens at which Codex is configured to compact by itself, or None. `auto` says what is done
    without being asked: old output is masked from the share `mask_at` of the window on, with a warm
    cache only if it pays off within `pays_off_within` calls, with `mid_turn` also while the agent
    works, and a critical context is compacted.
    An automatic compaction keeps `preserve_recent_turns` turns, and counts as useless if it frees
    less than the share `min_freed` of the window. Pins may take the share `pins_share` of the
    window. `cache` is the provider's cache, `model_caches` those of models for which something else
    is configured.
    """

    min_messages: int = 6
    overflow_recovery: bool = True
    warning_at: float = 0.70
    critical_at: float = 0.90
    model_windows: dict[str, int] = {}
    provider_compacts_at: int | None = None
    auto: AutoMode = "warn"
    mask_at: float = 0.35
    pays_off_within: int = 20
    mid_turn: bool = False
    preserve_recent_turns: int = 3
    min_freed: float = 0.10
    pins_share: float = 0.25
    summarizer: SummarizerPolicy = SummarizerPolicy()
    discard: DiscardPolicy = DiscardPolicy()
    cache: CachePolicy = CachePolicy()
    model_caches: dict[str, CachePolicy] = {}


def in_force(state: ThreadState, policy: Policy) -> Policy:
    """Returns the rules for this thread: as configured, but for what was chosen for it."""
    return policy if state.auto is None else msgspec.structs.replace(policy, auto=state.auto)


LISTED = (CommandHint("/timeline", "lists the turns"),)
"""The way on where a turn was named that is not there."""


class BusyReason(NamedTuple):
    """The reason why a thread is busy, and since when in milliseconds since the epoch."""

    kind: BlockerKind
    id: str
    since_ms: int
    detail: str


class Rejected(NamedTuple):
    """The outcome of a command that a rule refused. `said` is a sentence for a person, and `hints`
    are commands that help on. `block` says what keeps the thread busy if that is the reason, else
    it is None.
    """

    reason: Reason
    said: str
    block: BusyReason | None = None
    hints: tuple[CommandHint, ...] = ()

    @property
    def message(self) -> str:
        """Returns what was said and the hints in one text."""
        return " ".join(filter(None, (self.said, hint_text(self.hints, Spelling.SLASH))))


class Accepted(NamedTuple):
    """The outcome of an accepted command: its events, and the id of the operation that they belong
    to, or None.
    """

    events: tuple[ev.AnyEvent, ...]
    operation_id: str | None = None


Decision = Accepted | Rejected

SUB_AGENT = "subAgent"
"""The name of a pending request that stands for a working sub-agent."""

# Pending requests that a program answers.
_NOT_OF_A_PERSON = frozenset({SUB_AGENT, "item/tool/call"})

_BUSY_REASONS = {
    "turn": Reason.TURN_IN_PROGRESS,
    "operation": Reason.ALREADY_IN_PROGRESS,
    "request": Reason.REQUEST_PENDING,
}


def busy(state: ThreadState) -> BusyReason | None:
    """Returns why a thread is busy, or None if it is idle. No other function decides this.

    A thread is busy with an open operation, a turn that runs or was requested, a request of Codex
    without an answer, or a working sub-agent.
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


def holds_prompts(state: ThreadState) -> bool:
    """Returns whether a prompt has to wait: not for sub-agents, beside which Codex takes one."""
    block = busy(state)
    is_free = block is None or (
        block.kind == "request"
        and all(one.what == SUB_AGENT for one in state.pending_requests.values())
    )
    return not is_free


def asks(state: ThreadState) -> str | None:
    """Returns the method of the oldest request that waits for an answer of a person, if any."""
    waiting = (one.what for one in state.pending_requests.values())
    return next((method for method in waiting if method not in _NOT_OF_A_PERSON), None)


def _first(pending: dict[str, Pending]) -> Pending:
    return next(iter(pending.values()))


def when_idle(state: ThreadState, verb: str) -> Rejected | None:
    """Returns None if the thread is idle and not archived, else the rejection of a change. `verb`
    names the change in the message; an archived thread can still be archived and deleted.
    """
    if state.archived and verb not in ("archive", DELETE):
        successor = (
            f" It continues as the thread {state.new_thread_id}."
            if state.new_thread_id is not None
            else ""
        )
        problem = f"The thread is archived; unarchive it to {verb} it.{successor}"
        return Rejected(Reason.THREAD_ARCHIVED, problem, hints=brought_back(state))
    if (block := busy(state)) is None:
        return None
    message = f"Cannot {verb} the thread now: {block_text(block)}. {_way_on(block)}"
    return Rejected(_BUSY_REASONS[block.kind], message, block)


def brought_back(state: ThreadState) -> tuple[CommandHint, ...]:
    """Returns the way on where a thread is archived."""
    return (CommandHint(f"{UNARCHIVE} {state.id}", "brings it back"),)


def _way_on(block: BusyReason) -> str:
    if block.kind == "request" and block.detail not in _NOT_OF_A_PERSON:
        return "Answer it, or interrupt the turn."
    if block.kind == "turn":
        return "Wait for its end, or interrupt it."
    return "Try again when it has ended."


def block_text(block: BusyReason) -> str:
    """Returns what keeps a thread busy, in words: `a turn is running`."""
    request = (
        "a sub-agent is still at work"
        if block.detail == SUB_AGENT
        else f"the agent waits for an answer ({block.detail})"
    )
    return {
        "turn": "a turn is running",
        "operation": f"its {block.detail} operation is still under way",
        "request": request,
    }[block.kind]


def counted(count: int, noun: str, zero: str = "0") -> str:
    """Returns `count` with `noun` in the singular or plural: `1 turn`, `2,000 entries`; of none
    `zero`.
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{f'{count:,}' if count else zero} {noun if count == 1 else plural}"


def operation_under_way(state: ThreadState, operation_id: str) -> Operation | None:
    """Returns the open operation if its id is `operation_id`, else None."""
    operation = state.open_operation
    return operation if operation is not None and operation.id == operation_id else None
