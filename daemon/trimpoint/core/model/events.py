"""The events of a thread: what is journaled, and the only thing that changes a thread's state.

The law of this file: it is the journal's format. A tag, once released, never changes its meaning;
fields are only ever appended, each with a default, because they are stored by position.
`tests/core/test_event_format.py` pins the bytes. Times are milliseconds since the epoch, UTC.
"""

from typing import ClassVar

import msgspec

ACCEPTED_FOR_SESSION = "accepted for session"
"""The outcome of a question whose answer holds until the session ends, and so not beyond a trim."""

CONTEXT_WINDOW_EXCEEDED = "contextWindowExceeded"
"""The error of a turn whose context no longer fitted into the model's window."""


class Event(msgspec.Struct, frozen=True, array_like=True):
    """Common base. `private` names the fields that no client is shown (provider ids, raw model
    items).
    """

    private: ClassVar[frozenset[str]] = frozenset()


class ThreadCreated(Event, frozen=True, array_like=True, tag="thread.created"):
    """`origin`: started | new | adopted | forked.

    `overhead_tokens` and `window_tokens` are what was known of them in the thread before it.
    `launch` is what its Codex is launched with beyond the daemon's configuration, see
    codex/appserver/launch_requests.py; empty for nothing.
    """

    private: ClassVar[frozenset[str]] = frozenset({"settings", "launch"})
    thread_id: str
    cwd: str
    origin: str
    settings: bytes  # JSON, see operations/provider/settings.py
    project_id: str | None = None
    worktree_id: str | None = None
    branch_name: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    overhead_tokens: int = 0
    window_tokens: int | None = None
    launch: bytes = b""


class GenerationOpened(Event, frozen=True, array_like=True, tag="thread.generation-opened"):
    """Retires the generation before it.

    `bootstrap`: none | turns | summary | provider (the provider keeps the context). `turn_ids` are
    the kept turns, `summary` the text that stands for what was pruned, `summarized_messages` how
    many. `skipped_items`: so many of the first active turn's oldest items are left out, because the
    summary stands for them too. `pins` are those that stand behind the
    summary.
    """

    generation: int
    reason: str
    bootstrap: str
    turn_ids: tuple[str, ...] = ()
    summary: str | None = None
    summarized_messages: int = 0
    skipped_items: int = 0
    pins: tuple[str, ...] = ()


class ProviderThreadBound(Event, frozen=True, array_like=True, tag="thread.provider-bound"):
    """A provider thread now serves the generation; `raw_events`: it reports the items the model
    sees.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id", "rollout_path"})
    generation: int
    provider_thread_id: str
    rollout_path: str | None = None
    raw_events: bool = False


class SessionReady(Event, frozen=True, array_like=True, tag="thread.session-ready"):
    """The bootstrap is in place: the generation's provider thread holds exactly the active
    context.
    """

    generation: int


class SessionStopRequested(
    Event, frozen=True, array_like=True, tag="thread.session-stop-requested"
):
    """The intent to release a generation's provider thread."""

    generation: int


class SessionStopped(Event, frozen=True, array_like=True, tag="thread.session-stopped"):
    """The provider thread was released.

    `retained_because` says why it stays loaded, if it does (running terminals).
    """

    generation: int
    retained_because: str = ""


class SessionStartRequested(
    Event, frozen=True, array_like=True, tag="thread.session-start-requested"
):
    """The intent to make the current generation's session ready."""

    generation: int


class OperationStarted(Event, frozen=True, array_like=True, tag="thread.operation-started"):
    """`kind`: clear | compact | discard | revert | start | overflow | undo | redo | pin | unpin. At
    most one is open on a thread.
    """

    operation_id: str
    kind: str


class OperationAdvanced(Event, frozen=True, array_like=True, tag="thread.operation-advanced"):
    """`phase`: compacting | stopping | starting | bootstrapping | retrying, then ready | failed;
    `message` is for a person.
    """

    operation_id: str
    phase: str
    message: str = ""
    reason: str = ""


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
    summary that is no smaller than what it stands for is taken too.
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
    """A turn that had failed goes on in `generation`, as the provider's turn `provider_turn_id`; to
    everyone else it is still this one.

    Its prompt has been sent again. What it had done before is in the context that the generation
    began with.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_turn_id"})
    turn_id: str
    provider_turn_id: str
    generation: int


class ArchivedAndNewCreated(
    Event, frozen=True, array_like=True, tag="thread.archived-and-new-created"
):
    """This thread is archived and `new_thread_id` continues with the same files."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    archived_thread_id: str
    new_thread_id: str
    worktree_id: str | None
    branch_name: str | None
    project_id: str | None
    cwd: str
    settings: bytes  # what the new thread starts with


class ThreadArchived(Event, frozen=True, array_like=True, tag="thread.archived"):
    """The thread is archived; its ledger stays."""


class ThreadUnarchived(Event, frozen=True, array_like=True, tag="thread.unarchived"):
    """The thread is back."""


class ThreadRenamed(Event, frozen=True, array_like=True, tag="thread.renamed"):
    """`name` is None when the name was taken away."""

    name: str | None


class SettingsChanged(Event, frozen=True, array_like=True, tag="thread.settings-changed"):
    """The thread has other settings from now on."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    settings: bytes  # all of them, as they stand from now on


class TurnRequested(Event, frozen=True, array_like=True, tag="thread.turn-requested"):
    """A prompt is on its way to the provider; the thread is busy from here on."""

    request_id: str


class TurnRequestEnded(Event, frozen=True, array_like=True, tag="thread.turn-request-ended"):
    """The provider answered the request: `turn_id` when it took it, else `error` says why not."""

    request_id: str
    turn_id: str | None = None
    error: str = ""


class TurnStarted(Event, frozen=True, array_like=True, tag="thread.turn-started"):
    """The provider began to answer in `generation`."""

    turn_id: str
    generation: int


class EntryRecorded(Event, frozen=True, array_like=True, tag="thread.entry-recorded"):
    """A finished entry.

    `kind`: message | activity; `role`: user | assistant for messages, the item type for activities.
    `text` is the message's text or the activity's one-line title; `detail` is the provider's item,
    JSON, where text is not all.
    """

    turn_id: str
    entry_id: str
    kind: str
    role: str
    text: str
    detail: bytes = b""


class ContextItemsRecorded(
    Event, frozen=True, array_like=True, tag="thread.context-items-recorded"
):
    """Items of the turn exactly as the model saw them, JSON, in order, preamble left out.

    `source`: events (appended to what is recorded) | rollout (all of the turn's items, replacing
    what is recorded). `injected`: so many of the last ones were put there by a client after the
    turn had ended.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items"})
    turn_id: str
    items: tuple[bytes, ...]
    source: str = "events"
    injected: int = 0


class UsageReported(Event, frozen=True, array_like=True, tag="thread.usage-reported"):
    """Tokens: `last_total` is what the context holds now; `window` is None when the provider does
    not say.

    `input`, `cached_input`, `output` and `reasoning_output` are of this one model call (cached is
    part of input, reasoning part of output); all are 0 where the provider only estimates what the
    context holds, as after its own compaction.
    """

    turn_id: str
    last_total: int
    total: int
    window: int | None = None
    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning_output: int = 0


class TurnInterruptRequested(
    Event, frozen=True, array_like=True, tag="thread.turn-interrupt-requested"
):
    """Someone on another machine, `asked_by`, asked that the turn be ended; how it ended is another
    event.
    """

    turn_id: str
    asked_by: str


class TurnCompleted(Event, frozen=True, array_like=True, tag="thread.turn-completed"):
    """`status`: completed | interrupted | failed; `error` is the provider's own message.

    `items_heard` is False when the daemon missed part of the turn, so that its raw items must come
    from the rollout. `error_kind` is the provider's word for the error, "" when it has none:
    contextWindowExceeded, other, …
    """

    turn_id: str
    status: str
    error: str | None = None
    items_heard: bool = True
    error_kind: str = ""


class TurnsReverted(Event, frozen=True, array_like=True, tag="thread.turns-reverted"):
    """This turn and all after it are no longer part of the thread, nor are the trim points after
    it; files are as they were.
    """

    turn_id: str


class CheckpointCaptured(Event, frozen=True, array_like=True, tag="thread.checkpoint-captured"):
    """The worktree as it was at a moment, kept as a commit in a repository of ours.

    `moment`: before | after (of the turn) | safety (before a revert, of no turn) | found (by a
    daemon that was not there when the turn ended: what it cannot tell who did). `notes` say what is
    not in it. A turn that changed nothing names the commit and the ref of the checkpoint before it.
    """

    turn_id: str | None
    moment: str
    repository: str
    ref: str
    commit: str
    notes: tuple[str, ...] = ()


class CheckpointFailed(Event, frozen=True, array_like=True, tag="thread.checkpoint-failed"):
    """There is no checkpoint of that moment; `reason` is for a person."""

    turn_id: str | None
    moment: str
    reason: str


class RevertRequested(Event, frozen=True, array_like=True, tag="thread.revert-requested"):
    """The intent to take the thread back to where it was after `turn_id` (None: before the first
    turn).

    `scope`: files+context | context. `undo`: the target is what the last revert took back, and
    `turn_id` says nothing. `commit` holds the files of the target, empty when files stay as they
    are.
    """

    operation_id: str
    turn_id: str | None
    scope: str
    undo: bool = False
    force: bool = False
    repository: str = ""
    commit: str = ""


class RevertPrepared(Event, frozen=True, array_like=True, tag="thread.revert-prepared"):
    """This provider thread has the context of the target. It is used when the revert is
    complete.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id"})
    operation_id: str
    provider_thread_id: str


class RevertPlanned(Event, frozen=True, array_like=True, tag="thread.revert-planned"):
    """What the revert makes of the files: `commit`, which is the target with the changes of others
    in it.

    `written`, `removed`: paths that differ from now. `kept`: paths that others have changed since,
    and that stay so. At most a thousand of each are named.
    """

    operation_id: str
    ref: str
    commit: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class FilesRestored(Event, frozen=True, array_like=True, tag="thread.files-restored"):
    """The files are those of `commit`; `written` and `removed` count those that differed."""

    operation_id: str
    commit: str
    written: int
    removed: int


class Reverted(Event, frozen=True, array_like=True, tag="thread.reverted"):
    """The thread is where it was after `turn_id` (None: before the first turn): what came later is
    no longer part of it.

    `undone`: instead, what the last revert had taken back is part of it again.
    """

    operation_id: str
    turn_id: str | None
    scope: str
    undone: bool = False


class RequestOpened(Event, frozen=True, array_like=True, tag="thread.request-opened"):
    """The agent asks something and waits."""

    request_id: str
    method: str


class RequestClosed(Event, frozen=True, array_like=True, tag="thread.request-closed"):
    """`outcome`: answered | accepted for session | refused (by every client) | resolved (by the
    provider) | expired.

    A question expires when the session that asked is gone.
    """

    request_id: str
    outcome: str


class ContextLost(Event, frozen=True, array_like=True, tag="thread.context-lost"):
    """The provider no longer has the conversation and it could not be rebuilt; said, never
    silent.
    """

    generation: int
    message: str


class CommandRejected(Event, frozen=True, array_like=True, tag="thread.command-rejected"):
    """A rule refused the command; remembered so that the same command id answers the same."""

    reason: str
    message: str


AnyEvent = (
    ThreadCreated
    | GenerationOpened
    | ProviderThreadBound
    | SessionReady
    | SessionStopRequested
    | SessionStopped
    | SessionStartRequested
    | OperationStarted
    | OperationAdvanced
    | TrimPointCreated
    | ContextSummarized
    | ContextDiscarded
    | TrimUndone
    | TrimRedone
    | ContextPinned
    | ContextUnpinned
    | CompactionRequested
    | CompactionForked
    | CompactionFailed
    | OverflowRecoveryRequested
    | TurnRetried
    | ArchivedAndNewCreated
    | ThreadArchived
    | ThreadUnarchived
    | ThreadRenamed
    | SettingsChanged
    | TurnRequested
    | TurnRequestEnded
    | TurnStarted
    | EntryRecorded
    | ContextItemsRecorded
    | UsageReported
    | TurnInterruptRequested
    | TurnCompleted
    | TurnsReverted
    | CheckpointCaptured
    | CheckpointFailed
    | RevertRequested
    | RevertPrepared
    | RevertPlanned
    | FilesRestored
    | Reverted
    | RequestOpened
    | RequestClosed
    | ContextLost
    | CommandRejected
)


class Record(msgspec.Struct, frozen=True, array_like=True):
    """The events of one decision, written whole or not at all: the unit of the journal.

    `sequence` and `thread_sequence` are of the first event; the others follow without gaps.
    `fingerprint` identifies the command's arguments, so that a re-used command id with other
    arguments is told apart from a repetition. `asked_by` names the person who gave the command from
    another machine; empty for this machine's own clients.
    """

    sequence: int
    thread_sequence: int
    occurred_at_ms: int
    events: tuple[AnyEvent, ...]
    command_id: str | None = None
    fingerprint: bytes = b""
    operation_id: str | None = None
    asked_by: str = ""
