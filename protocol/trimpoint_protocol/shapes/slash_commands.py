"""The shapes of `commands/…`: slash commands, their progress and their outcome."""

from typing import Literal

from trimpoint_protocol.errors import Blocker
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.shapes import checkpoints
from trimpoint_protocol.shapes.stats import Stats
from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

__all__ = [
    "CancelParams",
    "CancelResult",
    "CommandDraft",
    "CommandInfo",
    "CommandList",
    "CommandOutcome",
    "CommandProgress",
    "CommandStatus",
    "CompleteParams",
    "CompressionClass",
    "CompressionPreview",
    "ExecuteParams",
    "TokenChange",
    "TrimCost",
]


class CommandInfo(Result, frozen=True, kw_only=True):
    """A slash command, for menus and help.

    `asksWith`: where this is given, a command of nothing but its name and some of these switches
    does not say yet which turns it means; a client that can ask lets a person choose them.
    """

    name: str
    usage: str
    summary: str
    details: str
    asks_with: list[str] | None = None


class CommandList(Result, frozen=True, kw_only=True):
    """Slash commands, in menu order."""

    commands: list[CommandInfo]


class CompleteParams(Params, frozen=True, kw_only=True):
    """`text` is the input typed so far."""

    text: str


class ExecuteParams(Params, frozen=True, kw_only=True):
    """`text` is the whole input; `threadId` may be left out for commands about no thread (`/help`).

    `dryRun` is the same as `--dry-run`, for the commands that have it.
    """

    text: str
    thread_id: str | None = None
    command_id: str | None = None
    dry_run: bool = False


class CancelParams(Params, frozen=True, kw_only=True):
    """`operationId` names the operation to cancel; the command's progress has it."""

    operation_id: str


class CancelResult(Result, frozen=True, kw_only=True):
    """`cancelled` is false when the operation is not a running compaction, or its summary has
    arrived already.
    """

    cancelled: bool


class CompressionClass(Result, frozen=True, kw_only=True):
    """The segments of one kind that `/compress` discards."""

    kind: str
    count: int
    est_tokens: int


class CompressionPreview(Result, frozen=True, kw_only=True):
    """The segments that `/compress` would discard, by kind in the order of its priority, and before
    them those whose output it would mask; `leftEstTokens` is the weight of what stays.
    """

    classes: list[CompressionClass]
    entry_ids: list[str]
    total_est_tokens: int
    left_est_tokens: int
    target_tokens: int
    floor_tokens: int
    masked_entry_ids: list[str] = []
    masked_count: int = 0
    masked_est_tokens: int = 0


class TrimCost(Result, frozen=True, kw_only=True):
    """What it costs to go on with another context. The provider's cache holds the old one, if it is
    warm: the last call is not so long ago that it has forgotten it.

    The next call reads `readsAnewTokens` without the cache, and each call sends `savesTokens` less
    than it would have (more if it is negative, as after an undo). `paidOffAfterCalls` is null where
    nothing is saved. `said` is all of it for a person.
    """

    cache_is_warm: bool
    reads_anew_tokens: int
    saves_tokens: int
    paid_off_after_calls: int | None
    said: str


class TokenChange(Result, frozen=True, kw_only=True):
    """The size of the context before and after a trim, in the tokens of `context/status`.

    `after` is null where it cannot be known yet. `note` says why a figure is an estimate or what it
    leaves out; null where neither applies. `cost` is null where `after` is, and where a context is
    too small to be cached.
    """

    before: int
    after: int | None
    before_estimated: bool
    after_estimated: bool
    note: str | None
    window_tokens: int | None = None
    before_percent: float | None = None
    after_percent: float | None = None
    cost: TrimCost | None = None


class CommandDraft(Result, frozen=True, kw_only=True):
    """A text for a person to read and change before anything is done with it. `accept` is the
    command that does it; a client types the person's text behind it. Until then nothing has
    changed. `anew` is the command that has the model write another one, what it is to mind typed
    behind it; null where no model wrote it.
    """

    text: str
    accept: str
    anew: str | None = None


CommandStatus = Literal["completed", "skipped", "failed", "cancelled"]


class CommandOutcome(Result, frozen=True, kw_only=True):
    """How a slash command ended. `handled` is false when the input is not a command of ours; then
    nothing was done.

    `status`: completed | skipped (nothing changed, and need not) | failed | cancelled (by a person,
    and nothing changed). A command that did not complete has a `reason`, one of the error reasons,
    and a `blocker` when the thread was busy. `tokens` describes a trim, `files` a revert.

    What a person reads has parts, so that each client can word them: `said` is what happened,
    `hints` are commands that help on, `undo` is the command that takes this one back. Commands are
    written as they are typed in a chat, such as `/undo`. `message` is all of it in one text.

    `newThreadId` is the thread that `/new` or `/handoff` made or, where the thread is archived, the
    one that continues it. With `dryRun` nothing was changed, and the answer says what the command
    would do. `operationId` is the id that its progress has, where the command started an
    operation. `draft` is what the person is to decide about; `message` has its text too. `trims`
    marks a command that takes something out of the agent's context. `stats` sums all threads.
    """

    handled: bool
    command: str | None = None
    status: CommandStatus | None = None
    reason: str | None = None
    message: str | None = None
    said: str | None = None
    hints: list[CommandHint] = []
    sequence: int | None = None
    trim_point_id: str | None = None
    summary: str | None = None
    summary_unavailable: bool | None = None
    new_thread_id: str | None = None
    blocker: Blocker | None = None
    compression: CompressionPreview | None = None
    files: checkpoints.RevertedFiles | None = None
    tokens: TokenChange | None = None
    undo: str | None = None
    dry_run: bool | None = None
    operation_id: str | None = None
    draft: CommandDraft | None = None
    trims: bool | None = None
    stats: Stats | None = None


class CommandProgress(Result, frozen=True, kw_only=True):
    """A step of a slash command; `phase`: compacting | stopping | starting | bootstrapping |
    retrying | ready | failed | cancelled.

    `trigger` "auto" marks an automatic compaction or mask, which all clients that are subscribed to
    the thread or follow it are notified of. `command` "overflow" marks the retry of a turn that did
    not fit, which nobody typed; every client of the thread is notified.
    """

    thread_id: str
    command: str
    phase: str
    message: str
    operation_id: str
    trigger: str = "user"
