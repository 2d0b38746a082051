"""Parameters and results of the methods that list checkpoints and remove old ones."""

from typing import Annotated, Literal

import msgspec

from trimpoint_protocol.shapes.structs import Params, Result
from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "MAX_DIFF_BYTES",
    "CheckpointDiff",
    "CheckpointDiffParams",
    "CheckpointList",
    "CheckpointListParams",
    "CheckpointStorage",
    "DiffSide",
    "FileChange",
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
    """The newest `limit` turns. `changes` false leaves out what each turn changed, which has to be
    computed.
    """

    thread_id: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    changes: bool = True


class FilesChanged(Result, frozen=True, kw_only=True):
    """How much differs; binary files count as files only."""

    files: int
    additions: int
    deletions: int


class TurnCheckpoint(Result, frozen=True, kw_only=True):
    """The files around a turn. `number` counts from 1, pruned turns too; 0 is the time before the
    first, with null `turnId`.

    `commit` holds the files after it, null if there is no checkpoint: then `problem` says why.
    `notes` say what is not in it. `changed` is what the turn changed, null when that is not known
    or was not asked for.
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
    """In order. `older`: how many turns come before these. `safety` is the commit of the state
    before the last revert of files.
    """

    repository: str | None
    turns: list[TurnCheckpoint]
    older: int
    safety: str | None


class CheckpointDiffParams(Params, frozen=True, kw_only=True):
    """Two moments: a turn's number or id (its end; 0: before the first), a commit, `safety`, or
    `now`, the files as they are.

    Without `newer`: the last turn. Without `older`: the beginning of that turn; for anything else,
    the end of the last turn. `paths` limits the text to these files and folders. The text is cut
    after `maxBytes`; 0 leaves it out.
    """

    thread_id: str
    older: str | None = None
    newer: str | None = None
    paths: list[str] = []
    max_bytes: Annotated[int, msgspec.Meta(ge=0, le=MAX_DIFF_BYTES)] = 256 * 1024


class DiffSide(Result, frozen=True, kw_only=True):
    """One of the two moments. `commit` is null for now. `notes` say what is not in it."""

    label: str
    commit: str | None
    captured_at: Timestamp
    notes: list[str]


class FileChange(Result, frozen=True, kw_only=True):
    """One file that differs. Lines are counted unless it is `binary`. Bytes of a path that are no
    UTF-8 are shown as `\\\\xff`.
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
    """What to look at: the fields of `thread.checkpoint.revert`."""

    thread_id: str
    turn_id: str | None = None
    turn_count: Annotated[int, msgspec.Meta(ge=0)] | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False


class RevertedFiles(Result, frozen=True, kw_only=True):
    """What a revert did to the files, or would do: at most a thousand paths of each kind.

    `kept`: changed by others since, so not touched. `refusals`: a sentence for each file of others
    that stands against it.
    """

    written: list[str]
    removed: list[str]
    kept: list[str]
    refusals: list[str] = []


class StorageParams(Params, frozen=True, kw_only=True):
    """`folder`: the repository that it lies in; without it, those that threads work in."""

    folder: str | None = None


class PruneParams(Params, frozen=True, kw_only=True):
    """`threadIds`: whose checkpoints go; without it, those of all threads that this daemon does not
    know, deleted ones above all.

    `all`: everything of ours goes from the repositories, whosever it is: no file can be reverted
    any more. With `dryRun`, nothing is deleted; it is the default.
    """

    folder: str | None = None
    thread_ids: list[str] | None = None
    all: bool = False
    dry_run: bool = True


class ThreadRefs(Result, frozen=True, kw_only=True):
    """The checkpoints of one thread. `known`: whether this daemon has the thread in its books."""

    thread_id: str
    known: bool
    refs: int
    newest_at: Timestamp


class RepositoryStorage(Result, frozen=True, kw_only=True):
    """What checkpoints there are in one repository.

    `diskBytes` is what only they keep, null where git cannot tell; `problem` says what could not be
    found out.
    """

    repository: str
    threads: list[ThreadRefs]
    disk_bytes: int | None
    problem: str | None


class CheckpointStorage(Result, frozen=True, kw_only=True):
    """By repository; folders of threads that lie in none are left out."""

    repositories: list[RepositoryStorage]


class PruneResult(Result, frozen=True, kw_only=True):
    """Whose checkpoints went, or would. `kept`: folders that stay, because a restore has saved
    files of yours in them.
    """

    repositories: list[RepositoryStorage]
    refs: int
    deleted: bool
    kept: list[str] = []
