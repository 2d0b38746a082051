"""Events of the active context: trims, summaries, discards, undone trims, pins, compactions and the
recovery from an overflow.
"""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class TrimPointCreated(Event, frozen=True, array_like=True, tag="thread.trim-point-created"):
    """A trim pruned turns. The counts are of the turns and messages that this trim point pruned,
    prompts and answers alike.

    The pruned turns are a range of the ledger: `pruned_turn_count` turns, the last of them
    `last_pruned_turn_id`. `pruned_turn_ids` lists them, unless a revert has removed them since.
    `pruned_injected` is the number of oldest items that the trim removed of those injected before
    the first kept turn, or before the next turn if none is kept.
    """

    # Only records of older versions store the list of ids: on a hundred thousand turns, writing it
    # took as long as the rest of the trim. `core/views/view.py` computes it for clients.

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
    pruned_injected: int = 0


class ContextSummarized(Event, frozen=True, array_like=True, tag="thread.context-summarized"):
    """The summary that replaces the turns which the trim point pruned.

    `model` is the model that wrote it, or None for the thread's own model; `guidance` is the
    person's guidance. `tokens_before` is the estimated size of the replaced part of the context,
    and `tokens_after` that of the summary; both are 0 in records of older versions.
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
    """A discard took these entries out of the active context; it moved no boundary.

    `items` are their raw items: pairs of a turn id and the positions among that turn's items.
    `trigger`: discard | compress | agent. `est_tokens` is their estimated size in tokens.
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


class ContextMasked(Event, frozen=True, array_like=True, tag="thread.context-masked"):
    """A discard that also masked entries: the calls stay, and a placeholder is in the place of
    their output. Until `est_tokens`, the fields are those of `ContextDiscarded`, and may be empty.

    `masks` has for each turn id the positions of the masked raw items, each with the id by which
    the agent can read it in the history, or an empty one. `est_tokens` counts what both freed,
    `used_tokens` is the size of the context before, as it was reported last.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items", "masks"})
    thread_id: str
    trim_point_id: str
    created_at_ms: int
    entry_ids: tuple[str, ...]
    items: tuple[tuple[str, tuple[int, ...]], ...]
    generation: int
    trigger: str
    est_tokens: int
    masked_entry_ids: tuple[str, ...]
    masks: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    used_tokens: int = 0


class StretchSummarized(Event, frozen=True, array_like=True, tag="thread.stretch-summarized"):
    """The summary that stands in the place of what the discard `trim_point_id` took out; it stands
    for `messages` messages. Clients receive `turnsBefore` too, the number of turns before it in the
    thread; null if it was undone since. The other fields are those of `ContextSummarized`.
    """

    thread_id: str
    trim_point_id: str
    summary: str
    messages: int
    compact_duration_ms: int
    model: str | None = None
    guidance: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0


class TrimUndone(Event, frozen=True, array_like=True, tag="thread.trim-undone"):
    """The trim was undone: since `generation`, the active context again contains what the trim had
    removed, before the turns that came after it.
    """

    thread_id: str
    trim_point_id: str
    generation: int


class TrimRedone(Event, frozen=True, array_like=True, tag="thread.trim-redone"):
    """The trim that was undone last is in force again since `generation`."""

    thread_id: str
    trim_point_id: str
    generation: int


class ContextPinned(Event, frozen=True, array_like=True, tag="thread.context-pinned"):
    """A turn, or a note if `turn_id` is None, was pinned: it stays in the active context word for
    word.
    """

    thread_id: str
    pin_id: str
    turn_id: str | None = None
    note: str = ""


class ContextUnpinned(Event, frozen=True, array_like=True, tag="thread.context-unpinned"):
    """A pin was removed; later trims prune its turn or note like anything else."""

    thread_id: str
    pin_id: str


class AutoChosen(Event, frozen=True, array_like=True, tag="thread.auto-chosen"):
    """A person chose what is done when the context of this thread fills up: off | warn | mask |
    compact; None: as configured. `former` was chosen before.
    """

    mode: str | None
    former: str | None


class CompactionRequested(Event, frozen=True, array_like=True, tag="thread.compaction-requested"):
    """A compaction was requested; the context has not changed yet.

    `model` and `effort` are those of the summarizer; None means the thread's own. `force` accepts a
    summary that is not smaller than the part of the context that it replaces.
    """

    operation_id: str
    keep_last_n_turns: int
    guidance: str | None = None
    trigger: str = "user"
    model: str | None = None
    effort: str | None = None
    force: bool = False


class StretchCompactionRequested(
    Event, frozen=True, array_like=True, tag="thread.stretch-compaction-requested"
):
    """A compaction of the turns from number `from_turn` to `through_turn`, counted from 1, was
    requested; the context has not changed yet. The other fields are those of `CompactionRequested`.
    """

    operation_id: str
    from_turn: int
    through_turn: int
    guidance: str | None = None
    model: str | None = None
    effort: str | None = None
    force: bool = False


class DraftWritten(Event, frozen=True, array_like=True, tag="thread.draft-written"):
    """The operation `draft_id` has drafted a text, which a person may accept; the context has not
    changed.
    """

    thread_id: str
    draft_id: str
    text: str
    duration_ms: int


class CompactionForked(Event, frozen=True, array_like=True, tag="thread.compaction-forked"):
    """The operation works on a fork of the provider thread; the thread's own provider thread stays
    unchanged.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id"})
    operation_id: str
    provider_thread_id: str


class CompactionFailed(Event, frozen=True, array_like=True, tag="thread.compaction-failed"):
    """The compaction failed; the context is the same as before the request."""

    operation_id: str
    message: str


class OverflowRecoveryRequested(
    Event, frozen=True, array_like=True, tag="thread.overflow-recovery-requested"
):
    """The recovery from an overflow was requested: the oldest part of the context will be
    summarized and the turn `turn_id` repeated. Nothing has changed yet.
    """

    operation_id: str
    turn_id: str


class TurnRetried(Event, frozen=True, array_like=True, tag="thread.turn-retried"):
    """A failed turn is repeated in `generation`. Codex gives the repetition another id; for clients
    the turn keeps its id.

    Its prompt was sent again. What the turn had done before it failed is in the context that the
    generation began with.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_turn_id"})
    turn_id: str
    provider_turn_id: str
    generation: int
