"""Commands a client may send through `orchestration/dispatch` (docs/spec/model.md).

Each carries a `commandId` chosen by the sender: a command with the same id and the same arguments
gets the stored answer; with other arguments it is refused with `command_id_conflict`. Counts are
turns, never messages.
"""

from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "AcceptDraft",
    "AnyClientCommand",
    "ArchiveAndNew",
    "ArchiveThread",
    "AutoMode",
    "ClientCommand",
    "CompactContext",
    "DiscardContext",
    "DraftHandoff",
    "EditQueuedPrompt",
    "EditSummary",
    "EntryName",
    "Identifier",
    "MaskContext",
    "PinContext",
    "PromptInput",
    "QueuePrompt",
    "ReleaseQueue",
    "RenameThread",
    "ReorderQueue",
    "RevertToCheckpoint",
    "SetAuto",
    "StartSession",
    "StopSession",
    "TokenCount",
    "TrimContext",
    "TurnCount",
    "TurnNumber",
    "UnarchiveThread",
    "UndoTrim",
    "UnpinContext",
    "WithdrawQueuedPrompt",
]

TurnCount = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
TurnNumber = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
TokenCount = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
EntryName = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
AutoMode = Literal["off", "warn", "mask", "compact"]
PromptInput = Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, max_length=10_000)]


class ClientCommand(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    forbid_unknown_fields=True,
):
    """The members of every command; `createdAt` is the sender's clock and is recorded, never used
    for order.
    """

    command_id: Identifier
    thread_id: Identifier
    created_at: str | None = None


class TrimContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.trim"):
    """`/clear [N]`: keep the last `keepLastNTurns` turns of the active context; absent or 0 keeps
    nothing.

    With `summary`, that text stands in the new context for the turns that were pruned. `force` also
    keeps turns word for word that Codex has compacted automatically, though the context grows by
    that.

    With `fromTurn` or `throughTurn`, numbers from 1, exactly these turns leave the context, and
    what is before and behind them stays: `/clear 4..12`. Without the first it begins with the first
    turn in the context, without the second it ends with the newest.
    """

    keep_last_n_turns: TurnCount | None = None
    summary: str | None = None
    trigger: str | None = None
    force: bool = False
    from_turn: TurnNumber | None = None
    through_turn: TurnNumber | None = None


class CompactContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.compact"):
    """`/compact`: summarize the active context, then trim it, keeping the last `keepLastNTurns`
    turns word for word.

    `model` writes the summary in place of the thread's own or the configured model; the thread
    keeps its model. Without `force`, a compaction is refused when there are fewer messages than the
    configured minimum, or when it would keep turns that Codex has compacted automatically, and a
    summary that is no smaller than what it replaces is not accepted.

    With `fromTurn` or `throughTurn`, as in `thread.context.trim`, exactly these turns are
    summarized, and the summary stands in their place: `/compact 4..12`.

    With `edit` the summary is only drafted, and the context stays what it is until
    `thread.draft.accept`.
    """

    guidance: str | None = None
    keep_last_n_turns: TurnCount | None = None
    force: bool = False
    model: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    from_turn: TurnNumber | None = None
    through_turn: TurnNumber | None = None
    edit: bool = False


class AcceptDraft(ClientCommand, frozen=True, kw_only=True, tag="thread.draft.accept"):
    """`/accept`: do what the thread's draft was made for, with `text` in place of what the model
    wrote, unless it is absent. Of a summary, turns that ran since stay word for word. `draftId`,
    when given, must be the id of the draft that would be accepted, or its end.
    """

    draft_id: Identifier | None = None
    text: Annotated[str, msgspec.Meta(max_length=1_000_000)] | None = None


class DraftHandoff(ClientCommand, frozen=True, kw_only=True, tag="thread.handoff.draft"):
    """`/handoff`: have the model write a brief of this conversation for the `goal`. Once
    `thread.draft.accept` takes it, it is the first prompt of a new thread in the same folder, with
    the same settings; this thread stays as it is.
    """

    goal: str | None = None


class EditSummary(ClientCommand, frozen=True, kw_only=True, tag="thread.summary.edit"):
    """`/summary edit`: put `text` in the place of the summary that the context begins with. All
    else stays, and `/undo` brings the former one back.
    """

    text: Annotated[str, msgspec.Meta(max_length=1_000_000)]


class DiscardContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.discard"):
    """Take single entries out of the agent's context: those named by `entryIds` (see
    `context/messages/list`), or, with `targetTokens`, those that `/compress` would take.

    A tool call leaves together with its result and the reasoning before it. Either everything that
    was named is discarded, or nothing. Towards `targetTokens`, output is masked first
    (`thread.context.mask`), and discarded is what is needed beyond that; with `onlyDiscard` nothing
    is masked.
    """

    entry_ids: Annotated[list[EntryName], msgspec.Meta(min_length=1, max_length=10_000)] | None = (
        None
    )
    target_tokens: TokenCount | None = None
    trigger: str | None = None
    only_discard: bool = False


class MaskContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.mask"):
    """Replace the output of the entries named by `entryIds` (see `context/messages/list`) by one
    line in what the agent is sent; of a message, its images. The calls, the reasoning and the
    messages stay. Either everything that was named is masked, or nothing.

    With `fromTurn` or `throughTurn`, as in `thread.context.trim`, it is all output of these turns
    that may be masked: `/mask 4..12`.
    """

    entry_ids: Annotated[list[EntryName], msgspec.Meta(min_length=1, max_length=10_000)] | None = (
        None
    )
    from_turn: TurnNumber | None = None
    through_turn: TurnNumber | None = None


class UndoTrim(ClientCommand, frozen=True, kw_only=True, tag="thread.context.undo"):
    """`/undo`: take back the last trim of any kind; the context is what it was before, plus the
    turns since. Files stay as they are.

    `redo` repeats the trim that was undone last. `trimPointId`, when given, must name the trim that
    would be undone, so that of two clients which undo at once only one succeeds. `force` undoes
    even where the context will not fit, or where turns come back word for word that Codex had
    compacted automatically.
    """

    redo: bool = False
    trim_point_id: Identifier | None = None
    force: bool = False


class PinContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.pin"):
    """`/pin`: keep `turns`, each a number counted from 1, an id or an entry (`h3.2`), in the
    context word for word, whatever is trimmed; without any, the last turn. A `note` without a turn
    pins that sentence. `force` pins more than pins may hold.
    """

    turns: Annotated[list[Identifier | TurnNumber], msgspec.Meta(max_length=1_000)] | None = None
    note: str | None = None
    force: bool = False


class UnpinContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.unpin"):
    """`/unpin`: remove `pins`, each a number as `/pins` lists them or an id; without any, the
    newest pin.
    """

    pins: Annotated[list[Identifier | TurnNumber], msgspec.Meta(max_length=1_000)] | None = None


class SetAuto(ClientCommand, frozen=True, kw_only=True, tag="thread.auto.set"):
    """`/auto`: what is done with this thread's context when it fills up, without being asked; a
    null `mode` goes back to the configuration. It holds at once, also while a turn runs.
    """

    mode: AutoMode | None = None


class ArchiveAndNew(ClientCommand, frozen=True, kw_only=True, tag="thread.archive-and-new"):
    """`/new`: archive the thread and create one with the same project, worktree, branch and
    settings.

    `newThreadId`, when given, must be an unused UUID. With `pins` the new thread begins with the
    pins of this one: notes first, then the pinned turns as its first turns.
    """

    new_thread_id: str | None = None
    pins: bool = False


class RevertToCheckpoint(ClientCommand, frozen=True, kw_only=True, tag="thread.checkpoint.revert"):
    """`/revert`: take the thread back to where it was after a turn: files, context and ledger.

    The turn is named by `turnId`, which may also be an entry of it (`h3.2`) or the commit of the
    checkpoint after it, or by `turnCount`, the number of turns that stay (0: before the
    first turn); with neither, the last turn is taken back. `undo` takes back the last revert
    instead. `scope` `context` leaves files alone. `force` also restores files that another program
    has changed since the thread last captured them; the safety checkpoint still holds those
    changes.
    """

    turn_id: Identifier | None = None
    turn_count: TurnCount | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False


class StopSession(ClientCommand, frozen=True, kw_only=True, tag="thread.session.stop"):
    """Unload the thread's Codex thread; the next turn loads it again."""


class StartSession(ClientCommand, frozen=True, kw_only=True, tag="thread.session.start"):
    """Make the thread's session ready now instead of with its next turn."""


class ArchiveThread(ClientCommand, frozen=True, kw_only=True, tag="thread.archive"):
    """Archive the thread; it stays listed and readable."""


class UnarchiveThread(ClientCommand, frozen=True, kw_only=True, tag="thread.unarchive"):
    """Bring an archived thread back."""


class RenameThread(ClientCommand, frozen=True, kw_only=True, tag="thread.rename"):
    """Set the name of the thread."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class QueuePrompt(ClientCommand, frozen=True, kw_only=True, tag="thread.queue.add"):
    """Queue a prompt: it is sent when the thread has nothing under way, behind the prompts that
    wait already, whether or not a client is connected; to an idle thread it is sent at once.

    `input` is that of Codex's `turn/start`, images included. The queue is kept by the daemon, in
    the thread's journal. When a turn fails or a person interrupts it, the queue is held.
    """

    input: PromptInput
    client_user_message_id: Identifier | None = None


class EditQueuedPrompt(ClientCommand, frozen=True, kw_only=True, tag="thread.queue.update"):
    """Replace a queued prompt by another `input`; it keeps its place."""

    prompt_id: Identifier
    input: PromptInput


class ReorderQueue(ClientCommand, frozen=True, kw_only=True, tag="thread.queue.reorder"):
    """Put the queued prompts `promptIds` first, in this order; the others follow as they are."""

    prompt_ids: Annotated[list[Identifier], msgspec.Meta(min_length=1, max_length=1_000)]


class WithdrawQueuedPrompt(ClientCommand, frozen=True, kw_only=True, tag="thread.queue.delete"):
    """Take a prompt out of the queue before it is sent."""

    prompt_id: Identifier


class ReleaseQueue(ClientCommand, frozen=True, kw_only=True, tag="thread.queue.start"):
    """Send the queued prompts of a queue that is held; with `promptId`, that one first."""

    prompt_id: Identifier | None = None


AnyClientCommand = (
    TrimContext
    | CompactContext
    | AcceptDraft
    | EditSummary
    | DraftHandoff
    | DiscardContext
    | MaskContext
    | UndoTrim
    | PinContext
    | UnpinContext
    | SetAuto
    | ArchiveAndNew
    | RevertToCheckpoint
    | StopSession
    | StartSession
    | ArchiveThread
    | UnarchiveThread
    | RenameThread
    | QueuePrompt
    | EditQueuedPrompt
    | ReorderQueue
    | WithdrawQueuedPrompt
    | ReleaseQueue
)

# Commands after which the same thread goes on with another context.
CHANGE_CONTEXT = (
    TrimContext,
    CompactContext,
    AcceptDraft,
    EditSummary,
    DiscardContext,
    MaskContext,
    UndoTrim,
    PinContext,
    UnpinContext,
)

# Commands whose outcome depends on the turns that the thread has.
LOOK_AT_TURNS = (*CHANGE_CONTEXT, DraftHandoff, RevertToCheckpoint)

# Commands that need nothing of Codex, so that they hold also while it cannot be reached.
WITHOUT_CODEX = (
    SetAuto,
    QueuePrompt,
    EditQueuedPrompt,
    ReorderQueue,
    WithdrawQueuedPrompt,
    ReleaseQueue,
)
