"""Commands the daemon gives itself: what reactors report back and what the provider reports.

They go through the same decider as a client's (`trimpoint_protocol.commands`) but can never arrive
over the wire.
"""

import msgspec

from trimpoint.core.model.events import AnyEvent
from trimpoint.core.model.operations import Phase


class CreateThread(msgspec.Struct, frozen=True):
    """Begin a ledger.

    `provider_thread_id` is given when the provider thread exists already (start, adoption, fork)
    and holds the context as it is. Otherwise an operation opens a session. `inherited_turn_ids`:
    turns that are to come into the ledger and that the provider does not know as turns. `pinned`:
    the events of `core/context/carried_turns.carried_pins_of`, which the thread begins with.
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


class RecordFacts(msgspec.Struct, frozen=True):
    """Things that happened and are only to be written down; what the state already knows is
    dropped.
    """

    events: tuple[AnyEvent, ...]


class AdvanceOperation(msgspec.Struct, frozen=True):
    """The open operation reached `phase`; `facts` are written in the same record."""

    operation_id: str
    phase: Phase
    message: str = ""
    reason: str = ""
    facts: tuple[AnyEvent, ...] = ()


class CompleteCompaction(msgspec.Struct, frozen=True):
    """The compaction reactor has a result: trim, and open the next generation with it.

    `summary` is None when only the provider can read its own; then `provider_thread_id` is the
    compacted thread that carries on.
    """

    operation_id: str
    summary: str | None
    compact_duration_ms: int
    provider_thread_id: str | None = None
    rollout_path: str | None = None


class RecoverFromOverflow(msgspec.Struct, frozen=True):
    """A turn has just failed because the context did not fit: make room and try it again, once."""

    turn_id: str


class CompleteRecovery(msgspec.Struct, frozen=True):
    """The turn continues, in a provider thread that holds the summary and what was kept: make that
    the thread's present one.

    `summarized_messages`, `first_kept_turn_id` and `skipped_items` say where the context was cut
    (`trimpoint.core.decide.overflow.OverflowPlan`).
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


class CompactWhenCritical(msgspec.Struct, frozen=True):
    """A turn has ended, or is about to begin: compact the context if it is critical and that is
    configured.
    """


class OpenSession(msgspec.Struct, frozen=True):
    """The thread is about to be used: put its context in place, unless it is, or is on its way
    already.

    `force`: it is not in place, whatever the state says (the child that held it is gone).
    """

    force: bool = False


class RollBackTurns(msgspec.Struct, frozen=True):
    """Take back a turn and all after it; of a pruned turn, the context that was active then comes
    back too.

    `provider_did`: Codex has taken them back in its own thread. Otherwise a new generation is
    opened with what is left.
    """

    turn_id: str
    provider_did: bool


class CompleteRevert(msgspec.Struct, frozen=True):
    """The revert's session is prepared and its files are in place.

    `provider_thread_id` is None when the context is what it was, so that no session had to be
    prepared. `in_provider`: it holds the context by itself, instead of having been given it.
    `written` and `removed` count files.
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
    """The session is gone (child or daemon died): end what it ran, each once.

    Ends the running turn, turn requests and questions; an open operation is its reactor's to finish
    or undo.
    """

    reason: str


InternalCommand = (
    CreateThread
    | RecordFacts
    | AdvanceOperation
    | CompleteCompaction
    | RecoverFromOverflow
    | CompleteRecovery
    | CompactWhenCritical
    | OpenSession
    | RollBackTurns
    | CompleteRevert
    | AbandonOpenWork
)
