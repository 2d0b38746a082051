"""A thread's state: the result of applying all its events.

The state is mutable, because replaying a long journal must not copy the ledger at every event. Only
`trimpoint.core.evolve.evolve` may change it. Positions (`*_index`) count from 0 in the order of the
ledger.
"""

from collections.abc import MutableMapping, MutableSequence

import msgspec
from trimpoint_protocol.commands import AutoMode

from trimpoint.core.model.events import AnyEvent
from trimpoint.core.model.ledger import (
    Boundary,
    Discard,
    Entry,
    Handoff,
    Pin,
    TrimPoint,
    Turn,
    UndoneTrim,
    injected_behind,
    turns_behind,
)
from trimpoint.core.model.operations import SUMMARIZING, Phase, is_open
from trimpoint.core.model.queue import Hold, QueuedPrompt
from trimpoint.core.model.usage import UsageTotals

MAX_RECEIPTS = 1_000
"""The number of newest receipts that a thread keeps. A repeated command id is recognized for as
many commands.
"""


class FirstCall(msgspec.Struct, frozen=True):
    """The first model call of a generation and the number of its input tokens."""

    turn_id: str
    input_tokens: int


class Generation(msgspec.Struct):
    """One generation of the thread and its bootstrap. `ready` says that the bootstrap is complete;
    `first_call` is None until a model call is reported, `is_reported` says whether any of its turns
    has a report.
    """

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
    is_reported: bool = False


class Checkpoint(msgspec.Struct, frozen=True):
    """A checkpoint of the worktree. If there is none, `commit` is empty and `problem` says why. For
    the fields see `events.CheckpointCaptured`.

    `moment` may also be `reverted`: the files as a revert left them.
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
    """The target of a revert. `prepared` is the id of the new provider thread, `safety` the commit
    to return to if the revert fails.

    For `planned` and the fields after it see `events.RevertPlanned`; they are empty in reverts of
    older versions.
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
        """Returns the commit that the revert restores the files from."""
        return self.planned or self.commit


class UndoState(msgspec.Struct):
    """The part of the thread that the last revert removed, kept for as long as the revert can be
    undone.

    `generation` served the thread before the revert. `kept_turns` and `kept_entries` count the
    turns and entries that the revert kept. `commit` holds the files before the revert and is empty
    if it left the files alone. `injected` are the items that had been injected after the last kept
    turn, and `was_cut` is the former `Turn.is_cut` of that turn.
    `injected_before_next` and `compacted_behind` are the former ones of the state, and
    `note_places` the former `Pin.place` of each pinned note.
    """

    generation: int
    kept_turns: int
    kept_entries: int
    turns: MutableSequence[Turn]
    entries: MutableSequence[Entry]
    trim_points: list[TrimPoint]
    scope: str
    repository: str = ""
    commit: str = ""
    discards: list[Discard] = []
    injected: list[bytes] = []
    was_cut: bool = False
    undone: list[UndoneTrim] = []
    injected_before_next: list[bytes] = []
    note_places: dict[str, int] = {}
    compacted_behind: dict[str, int] = {}

    def entries_of(self, turn: Turn) -> list[Entry]:
        """Returns the entries of a turn that the revert removed; empty for any other turn."""
        start = end = turn.first_entry_index - self.kept_entries
        while start >= 0 and end < len(self.entries) and self.entries[end].turn_id == turn.id:
            end += 1
        return list(self.entries[start:end])


class Operation(msgspec.Struct):
    """The operation that is open or ended last. `failed_turn_id` is the turn that an overflow
    recovery repeats. `compaction_turns` are the numbers of the first and the last turn that a
    compaction of a stretch summarizes.
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
    compaction_turns: tuple[int, int] | None = None
    reverting: Reverting | None = None
    failed_turn_id: str | None = None

    @property
    def is_summarizing(self) -> bool:
        """Returns whether a summary is awaited, and the provider thread is still what it was."""
        is_about_one = self.kind in SUMMARIZING or self.kind == "overflow"
        return is_about_one and self.phase in (Phase.REQUESTED, Phase.COMPACTING)


class Draft(msgspec.Struct, frozen=True):
    """A text that the model wrote and a person has not accepted yet. `operation` is the one that
    drafted it, with what was asked for. The draft of a summary ends when the context changes.

    It was made of the context up to the turn `last_turn_id`, with `injected` items behind it.
    """

    id: str
    text: str
    took_ms: int
    operation: Operation
    last_turn_id: str | None
    injected: int


class CompactionAttempt(msgspec.Struct):
    """One automatic compaction.

    `used` are the tokens of the context before it, `lowest` the smallest number reported since, and
    `lowest_at_turn_end` the smallest number known at the end of a turn since. `failure` says why
    the compaction failed, and is None if it did not.
    """

    used: int
    failure: str | None = None
    lowest: int | None = None
    lowest_at_turn_end: int | None = None


class Receipt(msgspec.Struct, frozen=True):
    """The stored answer of a command id: its events, or its rejection as an event. `fingerprint`
    identifies the command's arguments.
    """

    fingerprint: bytes
    sequence: int
    thread_sequence: int
    occurred_at_ms: int
    events: tuple[AnyEvent, ...]
    operation_id: str | None


class Pending(msgspec.Struct, frozen=True):
    """A turn that was requested and has not begun, or a request of Codex that has no answer yet."""

    id: str
    what: str
    since_ms: int


class ThreadState(msgspec.Struct):
    """The state of one thread.

    Collections that grow for as long as the thread lives are declared as `MutableSequence` or
    `MutableMapping`. A state that was read from a snapshot decodes them on access
    (`journal/codec/lazy_list.py`), so read only the part that you need, and copy by slicing.

    `may_have_missed`: Codex stopped in the middle of a turn, so that it may know turns or items
    that the ledger lacks. `known_files` is the commit of the files as the thread last saw or
    restored them. `entries` are in the order of their turns; `entry_turns` has the position of the
    newest turn with an entry of an id, `repeated_ids` the ids that several turns have.
    `turn_requests` are keyed by request id until Codex answers, then by turn id until the turn
    begins, so that the thread is busy without a gap. `turn_aliases` maps Codex's id of a repeated
    turn to the turn's own id.
    `checkpoint_places` are the positions of each turn's checkpoints, and under an empty text those
    of checkpoints without a turn.
    `compacted_in` are the ids of the turns in which Codex compacted by itself, `compacted_behind`
    those behind which another program asked for it, each with its generation. `active_messages`
    counts the messages of the active turns, discarded ones included, `message_count` those of all
    turns. The turns before position `items_dropped_to` hold no raw items; the position approaches
    the newest trim point in steps, because dropping the items of a hundred thousand turns at once
    takes too long.
    `injected_before_next` are the items that a client injected while no turn was in the context;
    the next turn gets them. `queue` are the prompts that wait, the next one first; none of them is
    sent while there is a `hold`. `name_unconfirmed`: a command gave the thread
    its name, and Codex does not have it yet, so another name that Codex reports is an older one.
    `former_names` are the last names before it: Codex may have one of them again after it was
    killed. `auto` is what a person chose to be done when the context fills up, None: as configured.
    `draft` is a text that a person may accept. `begun_with` is the prompt of the queue that the
    running turn began with, until Codex reports that it has the prompt.
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
    entry_turns: MutableMapping[str, int] = {}
    repeated_ids: frozenset[str] = frozenset()
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
    checkpoint_places: MutableMapping[str, tuple[int, ...]] = {}
    known_files: str = ""
    undo_state: UndoState | None = None
    provider_compaction_count: int = 0
    usage: UsageTotals = msgspec.field(default_factory=UsageTotals)
    auto_attempts: list[CompactionAttempt] = []
    receipts: dict[str, Receipt] = {}
    prompts_read: dict[str, str] = {}
    active_messages: int = 0
    message_count: int = 0
    compacted_in: list[str] = []
    items_dropped_to: int = 0
    undone: list[UndoneTrim] = []
    redoable: int = 0
    pins: list[Pin] = []
    launch: bytes = b""
    new_with_pins: bool = False
    injected_before_next: list[bytes] = []
    queue: list[QueuedPrompt] = []
    hold: Hold | None = None
    name_unconfirmed: bool = False
    former_names: tuple[str, ...] = ()
    compacted_behind: dict[str, int] = {}
    auto: AutoMode | None = None
    draft: Draft | None = None
    handoffs: list[Handoff] = []
    begun_with: QueuedPrompt | None = None

    @property
    def exists(self) -> bool:
        """Returns whether the thread was ever created."""
        return bool(self.id)

    @property
    def generation(self) -> Generation:
        """Returns the generation that serves the thread at present."""
        return self.generations[-1]

    @property
    def boundaries(self) -> list[Boundary]:
        """Returns all trim points: first those that prune turns, then the discards."""
        return [*self.trim_points, *self.discards]

    @property
    def active_from_turn(self) -> int:
        """Returns the position of the first turn of the active context."""
        return self.trim_points[-1].turn_index if self.trim_points else 0

    @property
    def active_turns(self) -> list[Turn]:
        """Returns the turns of the active context, oldest first; see `turns_behind`."""
        return turns_behind(self.trim_points[-1] if self.trim_points else None, self.turns)

    @property
    def active_injected(self) -> list[bytes]:
        """Returns the items of the active context that were injected after its last turn and wait
        for the next one.
        """
        point = self.trim_points[-1] if self.trim_points else None
        return injected_behind(point, self.turns, self.injected_before_next)

    @property
    def active_turn_count(self) -> int:
        """Returns the number of turns in the active context."""
        return len(self.turns) - self.active_from_turn

    def entries_end(self, turn_index: int) -> int:
        """Returns the position after the last entry of the turn at `turn_index`."""
        following = turn_index + 1
        return (
            self.turns[following].first_entry_index
            if following < len(self.turns)
            else len(self.entries)
        )

    def place_of(self, entry_id: str) -> int | None:
        """Returns the position of the newest entry with this id, or None."""
        turn_index = self.entry_turns.get(entry_id)
        if turn_index is None:
            return None
        end = self.entries_end(turn_index)
        entries = self.entries[self.turns[turn_index].first_entry_index : end]
        return end - 1 - [one.id for one in reversed(entries)].index(entry_id)

    def entries_of(self, turn: Turn) -> list[Entry]:
        """Returns the entries of a turn, also of one that a revert took back and that can be
        restored.
        """
        index = self.turn_index.get(turn.id)
        if index is not None:
            return list(self.entries[turn.first_entry_index : self.entries_end(index)])
        return [] if self.undo_state is None else self.undo_state.entries_of(turn)

    @property
    def recovering_turn_id(self) -> str | None:
        """Returns the id of the failed turn that an open overflow recovery repeats, or None."""
        operation = self.open_operation
        return operation.failed_turn_id if operation is not None else None

    @property
    def open_operation(self) -> Operation | None:
        """Returns the operation that keeps the thread busy, or None."""
        return (
            self.operation if self.operation is not None and is_open(self.operation.phase) else None
        )
