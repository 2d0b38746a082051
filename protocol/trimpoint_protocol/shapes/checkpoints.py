"""Parameters and results of the methods that list checkpoints and remove old ones."""

from typing import Annotated, Literal

import msgspec

from trimpoint_protocol.shapes.structs import Params, Result
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "MAX_DIFF_BYTES",
    "CheckpointDiff",
    "CheckpointDiffParams",
    "CheckpointFileParams",
    "CheckpointList",
    "CheckpointListParams",
    "CheckpointStorage",
    "DiffSide",
    "FileChange",
    "FileContent",
    "FileStatus",
    "FilesChanged",
    "PruneParams",
    "PruneResult",
    "RepositoryStorage",
    "RevertPreviewParams",
    "RevertedFiles",
    "StorageParams",
    "ThreadRefs",
    "TurnCheckpoint",
]

MAX_DIFF_BYTES = 16 * 1024 * 1024

FileStatus = Literal["added", "modified", "deleted", "renamed", "typeChanged"]


class CheckpointListParams(Params, frozen=True, kw_only=True):
    """`limit` is the number of turns, newest ones. `changes` false leaves out what each turn
    changed, which has to be computed.
    """

    thread_id: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    changes: bool = True


class FilesChanged(Result, frozen=True, kw_only=True):
    """How many files and lines differ; binary files count as files only."""

    files: int
    additions: int
    deletions: int


class TurnCheckpoint(Result, frozen=True, kw_only=True):
    """The files before and after a turn. `number` counts from 1, pruned turns included; 0 is the
    time before the first turn, with a null `turnId`.

    `commit` holds the files after the turn; it is null if there is no checkpoint, and `problem`
    says why. `notes` say which files the checkpoint leaves out. `changed` is what the turn changed,
    null when that is not known or was not asked for.
    """

    number: int
    turn_id: str | None
    prompt: str
    status: str | None
    trimmed: bool
    captured_at: Timestamp | None
    commit: str | None
    ref: str | None
    notes: list[str]
    problem: str | None
    changed: FilesChanged | None


class CheckpointList(Result, frozen=True, kw_only=True):
    """Turns in order, oldest first. `older` counts the turns before these. `safety` is the commit
    that holds the files as they were before the last revert.
    """

    repository: str | None
    turns: list[TurnCheckpoint]
    older: int
    safety: str | None


class CheckpointDiffParams(Params, frozen=True, kw_only=True):
    """Two moments to compare. A moment is a turn's number or id (its end; 0 is before the first
    turn), a commit, `safety`, or `now` (the files as they are).

    Without `newer`: the last turn. Without `older`: the beginning of that turn; for anything else,
    the end of the last turn. `paths` limits the text to these files and folders. The text is cut
    after `maxBytes`; 0 leaves it out.
    """

    thread_id: str
    older: str | None = None
    newer: str | None = None
    paths: list[str] = []
    max_bytes: Annotated[int, msgspec.Meta(ge=0, le=MAX_DIFF_BYTES)] = 256 * 1024


class CheckpointFileParams(Params, frozen=True, kw_only=True):
    """Names a file as `checkpoint/diff` does, and a moment that has a checkpoint: not `now`."""

    thread_id: str
    moment: str
    path: str


class FileContent(Result, frozen=True, kw_only=True):
    """A file as it was. `text` is null if it is `binary`; it is cut after 16 MiB if `truncated`."""

    path: str
    text: str | None
    binary: bool
    truncated: bool


class DiffSide(Result, frozen=True, kw_only=True):
    """One of the two moments. `commit` is null for `now`. `notes` say which files its checkpoint
    leaves out.
    """

    label: str
    commit: str | None
    captured_at: Timestamp
    notes: list[str]


class FileChange(Result, frozen=True, kw_only=True):
    r"""One file that differs. Lines are counted unless it is `binary`. Bytes of a path that are not
    UTF-8 are shown as `\\xff`.
    """

    path: str
    old_path: str | None
    status: FileStatus
    additions: int | None
    deletions: int | None
    binary: bool


class CheckpointDiff(Result, frozen=True, kw_only=True):
    """How the files differ. `changed` counts all of them, `files` lists at most ten thousand.

    `diff` is a unified diff as git writes it, null if it was not asked for, `truncated` when it was
    cut.
    """

    repository: str
    older: DiffSide
    newer: DiffSide
    changed: FilesChanged
    files: list[FileChange]
    diff: str | None
    truncated: bool


class RevertPreviewParams(Params, frozen=True, kw_only=True):
    """The revert to preview: the fields of the command `thread.checkpoint.revert`."""

    thread_id: str
    turn_id: str | None = None
    turn_count: Annotated[int, msgspec.Meta(ge=0)] | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False


class RevertedFiles(Result, frozen=True, kw_only=True):
    """What a revert did to the files, or would do. Each list has at most a thousand paths.

    `kept`: files that others have changed since, and that the revert leaves alone. `refusals`: a
    sentence for each file of others because of which the revert is refused.
    """

    written: list[str]
    removed: list[str]
    kept: list[str]
    refusals: list[str] = []


class StorageParams(Params, frozen=True, kw_only=True):
    """`folder` limits the answer to the repository that contains it; without it, all repositories
    that threads work in.
    """

    folder: str | None = None


class PruneParams(Params, frozen=True, kw_only=True):
    """`threadIds`: the threads whose checkpoints are deleted; without it, those of all threads that
    this daemon does not know, deleted ones above all.

    `all` removes everything of trimpoint's from the repositories, whichever thread it belongs to;
    afterwards no file can be reverted. With `dryRun`, the default, nothing is deleted.
    """

    folder: str | None = None
    thread_ids: list[str] | None = None
    all: bool = False
    dry_run: bool = True


class ThreadRefs(Result, frozen=True, kw_only=True):
    """The checkpoints of one thread. `known`: whether this daemon knows the thread."""

    thread_id: str
    known: bool
    refs: int
    newest_at: Timestamp


class RepositoryStorage(Result, frozen=True, kw_only=True):
    """The checkpoints in one repository.

    `diskBytes` is the disk space that only they take, null where git cannot measure it; `problem`
    says what could not be determined.
    """

    repository: str
    threads: list[ThreadRefs]
    disk_bytes: int | None
    problem: str | None


class CheckpointStorage(Result, frozen=True, kw_only=True):
    """Checkpoints by repository; threads whose folder is in no repository are left out."""

    repositories: list[RepositoryStorage]


class PruneResult(Result, frozen=True, kw_only=True):
    """The checkpoints that were deleted, or would be. `kept`: folders that remain because a restore
    has saved files of yours in them.
    """

    repositories: list[RepositoryStorage]
    refs: int
    deleted: bool
    kept: list[str] = []
