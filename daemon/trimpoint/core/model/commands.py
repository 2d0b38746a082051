"""Commands that the daemon gives itself: reports of Codex and results of operations.

The same decider handles them as the commands of clients (`trimpoint_protocol.commands`), but no
client can send them.
"""

import msgspec

from trimpoint.core.model.events import AnyEvent
from trimpoint.core.model.operations import Phase


class CreateThread(msgspec.Struct, frozen=True):
    """Creates a thread.

    `provider_thread_id` names a provider thread that already exists (start, adoption, fork) and
    holds the context; without it, an operation starts one. `inherited_turn_ids` are the turns that
    the new ledger receives and that Codex does not know as turns. `pinned` are the events that pin
    what the thread begins with (`core/context/carried_turns.carried_pins_of`). With
    `to_be_filled` the provider thread is empty yet, and an operation is open until it is filled.
    `first_prompt` is sent as soon as the thread is ready.
    """

    thread_id: str
    cwd: str
    origin: str
    settings: bytes
    provider_thread_id: str | None = None
    rollout_path: str | None = None
    raw_events: bool = False
    parent_thread_id: str | None = None
    project_id: str | None = None
    worktree_id: str | None = None
    branch_name: str | None = None
    name: str | None = None
    inherited_turn_ids: tuple[str, ...] = ()
    overhead_tokens: int = 0
    window_tokens: int | None = None
    launch: bytes = b""
    pinned: tuple[AnyEvent, ...] = ()
    to_be_filled: bool = False
    first_prompt: str = ""


class RecordFacts(msgspec.Struct, frozen=True):
    """Records events that have already happened; events that the state contains already are
    dropped.
    """

    events: tuple[AnyEvent, ...]


class AdvanceOperation(msgspec.Struct, frozen=True):
    """Moves the open operation to `phase`; `facts` are appended in the same record."""

    operation_id: str
    phase: Phase
    message: str = ""
    reason: str = ""
    facts: tuple[AnyEvent, ...] = ()


class CompleteCompaction(msgspec.Struct, frozen=True):
    """Completes a compaction: trims the thread and opens the next generation with the summary.

    `summary` is None if it is sealed; then the compacted provider thread `provider_thread_id`
    serves the next generation.
    """

    operation_id: str
    summary: str | None
    compact_duration_ms: int
    provider_thread_id: str | None = None
    rollout_path: str | None = None


class RecoverFromOverflow(msgspec.Struct, frozen=True):
    """Starts the recovery of a turn that failed because the context did not fit into the model's
    window. A turn is repeated at most once.
    """

    turn_id: str


class CompleteRecovery(msgspec.Struct, frozen=True):
    """Completes the recovery from an overflow: the turn continues in a new provider thread, which
    holds the summary and the part of the context that was kept.

    `summarized_messages`, `first_kept_turn_id`, `skipped_items` and `pruned_injected` say where the
    context was cut (`trimpoint.core.decide.overflow.OverflowPlan`).
    """

    operation_id: str
    summary: str
    compact_duration_ms: int
    summarized_messages: int
    first_kept_turn_id: str
    skipped_items: int
    provider_thread_id: str
    rollout_path: str | None
    provider_turn_id: str
    message: str = ""
    pruned_injected: int = 0


class TrimWhenDue(msgspec.Struct, frozen=True):
    """Masks old output or compacts the context if that is configured and due. Given after the end
    of a turn and before a turn begins.
    """


class OpenSession(msgspec.Struct, frozen=True):
    """Starts an operation that gives the thread's context to a provider thread, unless one has it
    or an operation is under way.

    `force` starts it even if the state says that a provider thread has the context, because the
    Codex process that held it has ended.
    """

    force: bool = False


class RollBackTurns(msgspec.Struct, frozen=True):
    """Takes a turn and all later turns out of the thread. For a pruned turn, the context that was
    active at that time is restored.

    `provider_did`: Codex has removed the turns from its own thread already. If it is False, a new
    generation is opened with the remaining turns.
    """

    turn_id: str
    provider_did: bool


class CompleteRevert(msgspec.Struct, frozen=True):
    """Completes a revert whose provider thread is prepared and whose files are restored.

    `provider_thread_id` is None if the context stays the same and no provider thread was needed.
    `in_provider` says that the provider thread holds the context by itself, as a fork does, and was
    not given it. `written` and `removed` count files.
    """

    operation_id: str
    provider_thread_id: str | None = None
    rollout_path: str | None = None
    raw_events: bool = False
    in_provider: bool = False
    written: int = 0
    removed: int = 0
    message: str = ""


class AbandonOpenWork(msgspec.Struct, frozen=True):
    """Ends the running turn, the turn requests and the open requests of a thread whose Codex
    process or daemon has died.

    An open operation stays open: the daemon continues it or undoes it.
    """

    reason: str


class DeleteThread(msgspec.Struct, frozen=True):
    """Starts an operation that deletes what Codex has of the thread, then archives the thread."""


InternalCommand = (
    CreateThread
    | RecordFacts
    | AdvanceOperation
    | CompleteCompaction
    | RecoverFromOverflow
    | CompleteRecovery
    | TrimWhenDue
    | OpenSession
    | RollBackTurns
    | CompleteRevert
    | AbandonOpenWork
    | DeleteThread
)
