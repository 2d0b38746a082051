"""A thread's state: the fold of its events, written by the projector alone.

Mutable on purpose: replaying a long journal must not copy the ledger at every event. Only
`trimpoint.core.evolve.evolve` assigns here. Positions (`*_index`) count from 0 in the ledger's
order.
"""

from collections.abc import MutableMapping, MutableSequence

import msgspec

from trimpoint.core.model.events import AnyEvent
from trimpoint.core.model.ledger import Boundary, Discard, Entry, Pin, TrimPoint, Turn, UndoneTrim
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.core.model.usage import UsageTotals

MAX_RECEIPTS = 1_000
"""How many of a thread's newest receipts are remembered: a command id is recognised for as many
commands.
"""


class FirstCall(msgspec.Struct, frozen=True):
    """The first model call of a generation, how much it was given."""

    turn_id: str
    input_tokens: int


class Generation(msgspec.Struct):
    """One life of the thread in the provider. `ready`: the bootstrap is in place."""

    number: int
    reason: str
    bootstrap: str
    turn_ids: tuple[str, ...] = ()
    summary: str | None = None
    summarized_messages: int = 0
    skipped_items: int = 0
    provider_thread_id: str | None = None
    rollout_path: str | None = None
    raw_events: bool = False
    ready: bool = False
    turn_count: int = 0
    session_approvals: bool = False
    first_call: FirstCall | None = None
    pins: tuple[str, ...] = ()


class Checkpoint(msgspec.Struct, frozen=True):
    """A snapshot of the worktree, or why there is none: then `commit` is empty. See
    `events.CheckpointCaptured`.

    `moment` is also `reverted`: what a revert made of the files.
    """

    turn_id: str | None
    moment: str
    created_at_ms: int
    repository: str = ""
    ref: str = ""
    commit: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""


class Reverting(msgspec.Struct):
    """The target of a revert. `prepared` is the new provider thread, `safety` the commit to return
    to on failure.

    `planned` and what follows: see `events.RevertPlanned`; empty in reverts of earlier versions.
    """

    turn_id: str | None
    scope: str
    undo: bool
    force: bool
    repository: str
    commit: str
    prepared: str | None = None
    safety: str = ""
    planned: str = ""
    planned_ref: str = ""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def files(self) -> str:
        """Returns the commit that the files are to be like."""
        return self.planned or self.commit


class UndoState(msgspec.Struct):
    """The part that the last revert removed, for as long as it can be undone.

    `generation` served the thread then. `kept_turns` and `kept_entries` count what stayed before
    it. `commit` holds the files as they were, empty when the revert left them alone. `injected` are
    the items that had been injected behind the last turn that stayed, and `was_cut` is what the
    turn said of its rollout.
    """

    generation: int
    kept_turns: int
    kept_entries: int
    turns: list[Turn]
    entries: list[Entry]
    trim_points: list[TrimPoint]
    scope: str
    repository: str = ""
    commit: str = ""
    discards: list[Discard] = []
    injected: list[bytes] = []
    was_cut: bool = False
    undone: list[UndoneTrim] = []


class Operation(msgspec.Struct):
    """The operation under way or last ended. `failed_turn_id` is the turn that an overflow recovery
    is about.
    """

    id: str
    kind: str
    phase: Phase
    started_at_ms: int
    message: str = ""
    reason: str = ""
    compaction_keep: int = 0
    compaction_guidance: str | None = None
    compaction_trigger: str = "user"
    compaction_fork: str | None = None
    compaction_model: str | None = None
    compaction_effort: str | None = None
    compaction_force: bool = False
    reverting: Reverting | None = None
    failed_turn_id: str | None = None


class CompactionAttempt(msgspec.Struct):
    """One automatic compaction.

    `used`: tokens of the context before it; `lowest`: the least that was reported since, and
    `lowest_at_turn_end`: the least that was known when a turn ended. `failure` says why it failed,
    if it did.
    """

    used: int
    failure: str | None = None
    lowest: int | None = None
    lowest_at_turn_end: int | None = None


class Receipt(msgspec.Struct, frozen=True):
    """The stored answer of a command: its events, or its rejection."""

    fingerprint: bytes
    sequence: int
    thread_sequence: int
    occurred_at_ms: int
    events: tuple[AnyEvent, ...]
    operation_id: str | None


class Pending(msgspec.Struct, frozen=True):
    """A turn that is asked for and has not begun, or a question of the agent that has no answer
    yet.
    """

    id: str
    what: str
    since_ms: int


class ThreadState(msgspec.Struct):
    """Everything the decider, the timeline and the reactors know of one thread.

    `may_have_missed`: a session broke off while it was at work, so Codex may hold more than the
    ledger has heard. What grows with a thread's age for ever is declared `MutableSequence` or
    `MutableMapping`: read from a snapshot it stays packed until it is looked at
    (`journal/codec/lazy_list.py`), so look at the part you need, and copy by slicing. `known_files`
    is the commit that holds the files as the thread last knew them: what it captured around its
    turns, or restored. `entries` are in the order of their turns. `turn_requests` are keyed by
    request id until the provider answers and then by turn id until the turn begins: between the two
    the thread is as busy as before and after. `turn_aliases`: what the provider calls a turn that
    was tried again -> the turn. `compacted_in` are the turns in which Codex compacted the context
    automatically. `active_messages` counts the messages of the active turns, discarded ones too.
    The turns before position `items_dropped_to` hold no raw items any more; it follows the newest
    trim point step by step, because to drop the items of a hundred thousand turns at once takes too
    long.
    """

    id: str = ""
    cwd: str = ""
    origin: str = ""
    created_at_ms: int = 0
    name: str | None = None
    project_id: str | None = None
    worktree_id: str | None = None
    branch_name: str | None = None
    parent_thread_id: str | None = None
    new_thread_id: str | None = None
    archived: bool = False
    settings: bytes = b"{}"
    sequence: int = 0
    thread_sequence: int = 0
    updated_at_ms: int = 0
    turns: MutableSequence[Turn] = []
    turn_index: MutableMapping[str, int] = {}
    turn_aliases: dict[str, str] = {}
    entries: MutableSequence[Entry] = []
    entry_index: MutableMapping[str, int] = {}
    trim_points: list[TrimPoint] = []
    discards: list[Discard] = []
    generations: list[Generation] = []
    operation: Operation | None = None
    turn_requests: dict[str, Pending] = {}
    running_turn_id: str | None = None
    pending_requests: dict[str, Pending] = {}
    session_stopped: bool = False
    may_have_missed: bool = False
    compaction_count: int = 0
    checkpoints: MutableSequence[Checkpoint] = []
    known_files: str = ""
    undo_state: UndoState | None = None
    provider_compaction_count: int = 0
    usage: UsageTotals = msgspec.field(default_factory=UsageTotals)
    auto_attempts: list[CompactionAttempt] = []
    receipts: dict[str, Receipt] = {}
    active_messages: int = 0
    compacted_in: list[str] = []
    items_dropped_to: int = 0
    undone: list[UndoneTrim] = []
    redoable: int = 0
    pins: list[Pin] = []
    launch: bytes = b""
    new_with_pins: bool = False

    @property
    def exists(self) -> bool:
        """Returns whether the thread was created at all."""
        return bool(self.id)

    @property
    def generation(self) -> Generation:
        """Returns the generation that serves the thread at present."""
        return self.generations[-1]

    @property
    def boundaries(self) -> list[Boundary]:
        """Trim points of both kinds, those that prune turns first."""
        return [*self.trim_points, *self.discards]

    @property
    def active_from_turn(self) -> int:
        """Index of the first turn of the active context."""
        return self.trim_points[-1].turn_index if self.trim_points else 0

    @property
    def active_turns(self) -> list[Turn]:
        """Returns the turns of the active context, oldest first."""
        return list(self.turns[self.active_from_turn :])

    @property
    def active_turn_count(self) -> int:
        """Returns how many turns the active context has."""
        return len(self.turns) - self.active_from_turn

    def entries_end(self, turn_index: int) -> int:
        """Index just after the last entry of the turn at `turn_index`."""
        following = turn_index + 1
        return (
            self.turns[following].first_entry_index
            if following < len(self.turns)
            else len(self.entries)
        )

    def entries_of(self, turn: Turn) -> list[Entry]:
        """Returns the entries of a turn, also of one that a revert took back."""
        index = self.turn_index.get(turn.id)
        if index is not None:
            return list(self.entries[turn.first_entry_index : self.entries_end(index)])
        past = self.undo_state.entries if self.undo_state is not None else []
        return [entry for entry in past if entry.turn_id == turn.id]

    @property
    def recovering_turn_id(self) -> str | None:
        """Returns the turn that has failed and may still continue, if there is one."""
        operation = self.open_operation
        return operation.failed_turn_id if operation is not None else None

    @property
    def open_operation(self) -> Operation | None:
        """Returns the operation that keeps the thread busy, if any."""
        return (
            self.operation if self.operation is not None and is_open(self.operation.phase) else None
        )
