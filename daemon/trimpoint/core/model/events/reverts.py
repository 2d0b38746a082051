"""Events of checkpoints of the files, and of reverts to them."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class CheckpointCaptured(Event, frozen=True, array_like=True, tag="thread.checkpoint-captured"):
    """A checkpoint was taken: the worktree at one moment, stored as a commit in the store.

    `moment`: before | after (a turn) | safety (before a revert, without a turn) | found (by a
    daemon that was not running when the turn ended, so that the author of the changes is unknown).
    `notes` say what the checkpoint lacks. If a turn changed no file, `commit` and `ref` are those
    of the checkpoint before it.
    """

    turn_id: str | None
    moment: str
    repository: str
    ref: str
    commit: str
    notes: tuple[str, ...] = ()


class CheckpointFailed(Event, frozen=True, array_like=True, tag="thread.checkpoint-failed"):
    """No checkpoint could be taken at that moment; `reason` is a sentence for a person."""

    turn_id: str | None
    moment: str
    reason: str


class RevertRequested(Event, frozen=True, array_like=True, tag="thread.revert-requested"):
    """A revert was requested to the state after the turn `turn_id`, or to before the first turn if
    `turn_id` is None.

    `scope`: files+context | context. `undo`: the revert instead restores what the last revert
    removed, and `turn_id` has no meaning. `commit` has the files of the target; it is empty if the
    files stay as they are.
    """

    operation_id: str
    turn_id: str | None
    scope: str
    undo: bool = False
    force: bool = False
    repository: str = ""
    commit: str = ""


class RevertPrepared(Event, frozen=True, array_like=True, tag="thread.revert-prepared"):
    """A provider thread holds the context of the target. It serves the thread as soon as the revert
    is complete.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id"})
    operation_id: str
    provider_thread_id: str


class RevertPlanned(Event, frozen=True, array_like=True, tag="thread.revert-planned"):
    """The files that the revert will write. `commit` is the target combined with the changes that
    others have made.

    `written`, `removed`: the paths that will be written or removed. `kept`: the paths that others
    have changed and that stay as they are. Each list has at most a thousand paths.
    """

    operation_id: str
    ref: str
    commit: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class FilesRestored(Event, frozen=True, array_like=True, tag="thread.files-restored"):
    """The revert has restored the files of `commit`. `written` and `removed` are numbers of
    files.
    """

    operation_id: str
    commit: str
    written: int
    removed: int


class CheckpointRestored(Event, frozen=True, array_like=True, tag="thread.reverted"):
    """The revert is complete: the thread is in the state after the turn `turn_id`, or before the
    first turn if `turn_id` is None. Later turns no longer belong to the thread.

    `undone`: instead, the turns that the last revert had removed belong to the thread again.
    """

    operation_id: str
    turn_id: str | None
    scope: str
    undone: bool = False
