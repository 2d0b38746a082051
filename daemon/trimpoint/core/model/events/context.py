"""Events of the active context: trims, summaries, discards, undone trims, pins, compactions and the
recovery from an overflow.
"""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class TrimPointCreated(Event, frozen=True, array_like=True, tag="thread.trim-point-created"):
    """Counts are of what this trim point newly excluded; both messages of a turn belong to it.

    The turns are a range of the ledger: `pruned_turn_count` of them, up to and with
    `last_pruned_turn_id`. `pruned_turn_ids` lists them, unless a revert took them out since.
    """

    # In the journal the list stands only in records of older versions: it took as long as the rest
    # of the trim on a hundred thousand turns. `core/views/view.py` makes it for those who ask.

    thread_id: str
    trim_point_id: str
    created_at_ms: int
    before_entry_id: str | None
    pruned_message_count: int
    pruned_turn_ids: tuple[str, ...]
    first_kept_turn_id: str | None
    generation: int
    trigger: str
    summary_unavailable: bool = False
    pruned_turn_count: int = 0
    last_pruned_turn_id: str | None = None


class ContextSummarized(Event, frozen=True, array_like=True, tag="thread.context-summarized"):
    """The text that stands for what the trim point pruned.

    `model` wrote it, where that is not the thread's own, by the person's `guidance`.
    `tokens_before` and `tokens_after` are, by estimate, of what it stands for and of itself; 0 in
    records of older versions.
    """

    thread_id: str
    trim_point_id: str
    summary: str
    compact_duration_ms: int
    model: str | None = None
    guidance: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0


class ContextDiscarded(Event, frozen=True, array_like=True, tag="thread.context-discarded"):
    """A trim point of its own kind: these entries, wherever they stand, are no longer in the
    agent's context.

    `items` are the raw items they stand for: pairs of a turn id and positions among that turn's
    items. `trigger`: discard | compress | agent. `est_tokens` is what they were estimated to cost.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items"})
    thread_id: str
    trim_point_id: str
    created_at_ms: int
    entry_ids: tuple[str, ...]
    items: tuple[tuple[str, tuple[int, ...]], ...]
    generation: int
    trigger: str
    est_tokens: int = 0


class TrimUndone(Event, frozen=True, array_like=True, tag="thread.trim-undone"):
    """The trim point stands no more: what it took out of the context is in it again since
    `generation`, before the turns that came after it.
    """

    thread_id: str
    trim_point_id: str
    generation: int


class TrimRedone(Event, frozen=True, array_like=True, tag="thread.trim-redone"):
    """The trim point that was undone last stands again, since `generation`."""

    thread_id: str
    trim_point_id: str
    generation: int


class ContextPinned(Event, frozen=True, array_like=True, tag="thread.context-pinned"):
    """The turn, or without one the note, stays in the context word for word from now on."""

    thread_id: str
    pin_id: str
    turn_id: str | None = None
    note: str = ""


class ContextUnpinned(Event, frozen=True, array_like=True, tag="thread.context-unpinned"):
    """The pin stands no more; what it kept goes like anything else."""

    thread_id: str
    pin_id: str


class CompactionRequested(Event, frozen=True, array_like=True, tag="thread.compaction-requested"):
    """The intent to summarize; nothing of the context has changed yet.

    `model` and `effort` are those of the summarizer where they are not the thread's. `force`: a
    summary that is no smaller than what it stands for is accepted too.
    """

    operation_id: str
    keep_last_n_turns: int
    guidance: str | None = None
    trigger: str = "user"
    model: str | None = None
    effort: str | None = None
    force: bool = False


class CompactionForked(Event, frozen=True, array_like=True, tag="thread.compaction-forked"):
    """The operation works on this provider thread now: the thread's own one stays as it is."""

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id"})
    operation_id: str
    provider_thread_id: str


class CompactionFailed(Event, frozen=True, array_like=True, tag="thread.compaction-failed"):
    """The context is what it was before the request."""

    operation_id: str
    message: str


class OverflowRecoveryRequested(
    Event, frozen=True, array_like=True, tag="thread.overflow-recovery-requested"
):
    """The intent to summarize the oldest part of the context and to try `turn_id` again, which did
    not fit; nothing has changed yet.
    """

    operation_id: str
    turn_id: str


class TurnRetried(Event, frozen=True, array_like=True, tag="thread.turn-retried"):
    """A turn that had failed continues in `generation`, as the provider's turn `provider_turn_id`;
    to everyone else it is still this one.

    Its prompt has been sent again. What it had done before is in the context that the generation
    began with.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_turn_id"})
    turn_id: str
    provider_turn_id: str
    generation: int
