"""The shapes of `commands/…`: slash commands, their progress and what came of them."""

from typing import Literal

from trimpoint_protocol.errors import Blocker
from trimpoint_protocol.shapes import checkpoints
from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

__all__ = [
    "CancelParams",
    "CancelResult",
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
]


class CommandInfo(Result, frozen=True, kw_only=True):
    """A slash command, for menus and help."""

    name: str
    usage: str
    summary: str
    details: str


class CommandList(Result, frozen=True, kw_only=True):
    """Slash commands, in menu order."""

    commands: list[CommandInfo]


class CompleteParams(Params, frozen=True, kw_only=True):
    """`text` is what has been typed so far."""

    text: str


class ExecuteParams(Params, frozen=True, kw_only=True):
    """`text` is the whole input; `threadId` may be left out for commands about no thread (`/help`).

    `dryRun` is `--dry-run` for the commands that know it.
    """

    text: str
    thread_id: str | None = None
    command_id: str | None = None
    dry_run: bool = False


class CancelParams(Params, frozen=True, kw_only=True):
    """`operationId` is that of the command's progress."""

    operation_id: str


class CancelResult(Result, frozen=True, kw_only=True):
    """`cancelled` false: it is no compaction that is under way, or its summary has come already."""

    cancelled: bool


class CompressionClass(Result, frozen=True, kw_only=True):
    """The discarded segments of one kind."""

    kind: str
    count: int
    est_tokens: int


class CompressionPreview(Result, frozen=True, kw_only=True):
    """What `/compress` takes, by kind in the order of its priority; `leftEstTokens` is what
    stays.
    """

    classes: list[CompressionClass]
    entry_ids: list[str]
    total_est_tokens: int
    left_est_tokens: int
    target_tokens: int
    floor_tokens: int


class TokenChange(Result, frozen=True, kw_only=True):
    """What the context held before a trim and holds after it, in the tokens of `context/status`.

    `after` is null where it cannot be known yet. `note` says why a figure is an estimate or leaves
    something out, if it is or does.
    """

    before: int
    after: int | None
    before_estimated: bool
    after_estimated: bool
    note: str | None
    window_tokens: int | None = None
    before_percent: float | None = None
    after_percent: float | None = None


CommandStatus = Literal["completed", "skipped", "failed", "cancelled"]


class CommandOutcome(Result, frozen=True, kw_only=True):
    """How a slash command ended. `handled` false: the input is no command of ours, and nothing was
    done.

    `status`: completed | skipped (nothing changed, and need not) | failed | cancelled (by a person,
    and nothing changed). `message` is a sentence for a person. With a `reason` out of the error
    reasons when it did not complete; `blocker` when the thread was busy. `tokens` tells of a trim,
    `files` of a revert; `undo` is what to type to take the command back. `newThreadId` is the
    thread of `/new`, and where the thread is archived the one that it went on as. With `dryRun`
    nothing was changed, and the answer says what would be. `operationId` is that of its progress,
    where it came to an operation.
    """

    handled: bool
    command: str | None = None
    status: CommandStatus | None = None
    reason: str | None = None
    message: str | None = None
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


class CommandProgress(Result, frozen=True, kw_only=True):
    """What a slash command is doing; `phase`: compacting | stopping | starting | bootstrapping |
    retrying | ready | failed | cancelled.

    `trigger` "auto": an automatic compaction, of which all who take part in the thread
    or follow it hear. `command` is "overflow" where nobody gave one: a turn that did not fit is
    being tried again, and every client of the thread hears it.
    """

    thread_id: str
    command: str
    phase: str
    message: str
    operation_id: str
    trigger: str = "user"
