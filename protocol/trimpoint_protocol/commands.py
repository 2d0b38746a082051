"""Commands a client may send through `orchestration/dispatch` (docs/spec/model.md).

Each carries a `commandId` chosen by the sender: the same id with the same arguments answers the
stored result, with other arguments it is refused as `command_id_conflict`. Counts are turns, never
messages.
"""

from typing import Annotated, Literal

import msgspec

__all__ = [
    "AnyClientCommand",
    "ArchiveAndNew",
    "ArchiveThread",
    "ClientCommand",
    "CompactContext",
    "DiscardContext",
    "EntryName",
    "Identifier",
    "PinContext",
    "RenameThread",
    "RevertToCheckpoint",
    "StartSession",
    "StopSession",
    "TokenCount",
    "TrimContext",
    "TurnCount",
    "TurnNumber",
    "UnarchiveThread",
    "UndoTrim",
    "UnpinContext",
]

TurnCount = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
TurnNumber = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
TokenCount = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
EntryName = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


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

    With `summary`, the text stands in the new context for what was pruned. `force` keeps turns word
    for word that Codex has compacted automatically, though the context becomes larger by it.
    """

    keep_last_n_turns: TurnCount | None = None
    summary: str | None = None
    trigger: str | None = None
    force: bool = False


class CompactContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.compact"):
    """`/compact`: summarize the active context, then trim it, keeping the last `keepLastNTurns`
    turns verbatim.

    `force` compacts even when there are fewer messages than the configured minimum, and keeps turns
    word for word that Codex has compacted automatically. `model` writes the summary in place of the
    thread's own or the configured one; the thread keeps its model. Without `force`, a summary that
    is no smaller than what it stands for is not accepted.
    """

    guidance: str | None = None
    keep_last_n_turns: TurnCount | None = None
    force: bool = False
    model: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None


class DiscardContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.discard"):
    """Take single entries out of the agent's context: those named by `entryIds` (see
    `context/messages/list`), or, with `targetTokens`, what `/compress` would take.

    What belongs together goes together: a tool call with its result and the reasoning before it.
    All of it is done, or nothing.
    """

    entry_ids: Annotated[list[EntryName], msgspec.Meta(min_length=1, max_length=10_000)] | None = (
        None
    )
    target_tokens: TokenCount | None = None
    trigger: str | None = None


class UndoTrim(ClientCommand, frozen=True, kw_only=True, tag="thread.context.undo"):
    """`/undo`: take back the last trim of any kind; the context is what it was before, with the
    turns since. Files stay as they are.

    `redo` makes the trim again that was undone last. `trimPointId`, when given, must be that trim:
    so of two clients that undo at once, one does. `force` undoes it also where the context will not
    fit, or where turns come back word for word that Codex had compacted automatically.
    """

    redo: bool = False
    trim_point_id: Identifier | None = None
    force: bool = False


class PinContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.pin"):
    """`/pin`: the `turns`, each a number counted from 1 or an id, stay in the context word for
    word, whatever is trimmed; without any, the last one. A `note` without a turn is a sentence of
    the person that stays. `force` pins also what is more than pins may hold.
    """

    turns: Annotated[list[Identifier | TurnNumber], msgspec.Meta(max_length=1_000)] | None = None
    note: str | None = None
    force: bool = False


class UnpinContext(ClientCommand, frozen=True, kw_only=True, tag="thread.context.unpin"):
    """`/unpin`: the `pins`, each a number as `/pins` lists them or an id, stand no more; without
    any, the one that was made last.
    """

    pins: Annotated[list[Identifier | TurnNumber], msgspec.Meta(max_length=1_000)] | None = None


class ArchiveAndNew(ClientCommand, frozen=True, kw_only=True, tag="thread.archive-and-new"):
    """`/new`: archive the thread and create one with the same project, worktree, branch and
    settings.

    `newThreadId`, when given, must be an unused UUID. With `pins` the new thread begins with what
    is pinned in this one: notes, then the turns, which are its first.
    """

    new_thread_id: str | None = None
    pins: bool = False


class RevertToCheckpoint(ClientCommand, frozen=True, kw_only=True, tag="thread.checkpoint.revert"):
    """Take the thread back to where it was after a turn: its files, its context, its ledger.

    The turn is named by `turnId`, or by `turnCount`, how many turns stay (0: back to before the
    first); with neither, the last turn is taken back. `undo` takes back the last revert instead.
    `scope` `context` leaves files alone. `force` restores files that another program has changed
    since the thread last looked; a safety checkpoint has them still.
    """

    turn_id: Identifier | None = None
    turn_count: TurnCount | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False


class StopSession(ClientCommand, frozen=True, kw_only=True, tag="thread.session.stop"):
    """Release the provider thread; the next turn resumes it."""


class StartSession(ClientCommand, frozen=True, kw_only=True, tag="thread.session.start"):
    """Make the thread's session ready now instead of with its next turn."""


class ArchiveThread(ClientCommand, frozen=True, kw_only=True, tag="thread.archive"):
    """Put the thread away; it stays listed and readable."""


class UnarchiveThread(ClientCommand, frozen=True, kw_only=True, tag="thread.unarchive"):
    """Bring an archived thread back."""


class RenameThread(ClientCommand, frozen=True, kw_only=True, tag="thread.rename"):
    """Give the thread a name a person chose."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


AnyClientCommand = (
    TrimContext
    | CompactContext
    | DiscardContext
    | UndoTrim
    | PinContext
    | UnpinContext
    | ArchiveAndNew
    | RevertToCheckpoint
    | StopSession
    | StartSession
    | ArchiveThread
    | UnarchiveThread
    | RenameThread
)
