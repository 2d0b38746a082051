"""Events of checkpoints of the files, and of reverts to them."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


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


class CheckpointRestored(Event, frozen=True, array_like=True, tag="thread.reverted"):
    """The thread is where it was after `turn_id` (None: before the first turn): what came later is
    no longer part of it.

    `undone`: instead, what the last revert had taken back is part of it again.
    """

    operation_id: str
    turn_id: str | None
    scope: str
    undone: bool = False
