"""Bringing files back: what the plan says, nothing else, all of it or nothing.

Always true: no content that is not in a checkpoint is ever lost. All new contents are staged first.
Then each file is exchanged with the staged one in one move, and what comes out is looked at: if it
is not what was expected, everything goes back. The old files are kept until the end, so going back
needs no space. A path that is as it is to be already is passed over, so a restore that was killed
is finished by doing it again.
"""

import contextlib
import stat
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import anyio
import anyio.from_thread

from trimpoint.git.errors import FilesChanged, RestoreFailed
from trimpoint.git.plumbing.atomic_rename import Place
from trimpoint.git.plumbing.blobs import Blobs
from trimpoint.git.plumbing.compare import Side
from trimpoint.git.plumbing.locks import worktree_lock
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.plumbing.staging import Staging
from trimpoint.git.plumbing.worktree import Signature, Worktree, folders_of
from trimpoint.git.restore.file_transaction import FileTransaction, Unexpected, signature_at
from trimpoint.git.restore.plan import RestorePlan, Step

OnProgress = Callable[[int, int], None]

_LOCK_DEADLINE_S = 120.0


async def restore(
    repository: Repository,
    plan: RestorePlan,
    *,
    keep_folder: bytes | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """Carry out `plan`, conflicts or not: whether they are overruled is the caller's to say
    (`plan.forced`).

    Folders that this empties are removed, except `keep_folder` (relative to the work tree) and what
    is above it. `on_progress(done, total)` is called after each path; if it raises, everything is
    taken back. Not interrupted by cancellation.

    :raises FilesChanged: a path is neither as `present` nor as `target` says; nothing was done
    :raises RestoreFailed: the file system refused; nothing was done, but for what the error names
    :raises GitFailed: a content is gone from the repository; nothing was done
    """
    async with worktree_lock(repository, _LOCK_DEADLINE_S):
        await anyio.to_thread.run_sync(_restore, repository, plan, keep_folder, on_progress)


class _Task(NamedTuple):
    """A step that is still to be done: where its new file is staged or its old one goes, and what
    is there now.
    """

    step: Step
    place: Place
    signature: Signature | None


def _restore(
    repository: Repository,
    plan: RestorePlan,
    keep_folder: bytes | None,
    on_progress: OnProgress | None,
) -> None:
    run = ShadowRepository(repository, _LOCK_DEADLINE_S).users(
        "cat-file", "--batch", doing="read a checkpoint"
    )
    with Worktree(repository.worktree, repository.hash_name) as worktree, Blobs(run) as blobs:
        staging = Staging(repository.private_dir, repository.worktree, worktree)
        with _blaming(b"."):
            staging.clear(blobs, repository.hash_name)
        work = _Restore(plan, worktree, staging, blobs, on_progress)
        try:
            work.run(keep_folder)
        finally:
            if work.not_rolled_back:
                staging.rescue(blobs, repository.hash_name)
            staging.close()


@contextlib.contextmanager
def _blaming(path: bytes) -> Generator[None]:
    """Raises a refusal of the file system as an error about `path`."""
    try:
        yield
    except (Unexpected, FileExistsError, FileNotFoundError, NotADirectoryError):
        # Something came or went where we had just looked.
        raise FilesChanged([path]) from None
    except OSError as error:
        raise RestoreFailed(path, error.strerror or str(error)) from error


def _is_at(found: Side | None, side: Side | None) -> bool:
    return found is None if side is None else side.is_met_by(found)


class _Restore:
    def __init__(
        self,
        plan: RestorePlan,
        worktree: Worktree,
        staging: Staging,
        blobs: Blobs,
        on_progress: OnProgress | None,
    ) -> None:
        self._plan = plan
        self._worktree = worktree
        self._staging = staging
        self._blobs = blobs
        self._on_progress = on_progress
        self._changes = FileTransaction(worktree)
        self._done = 0
        self.not_rolled_back: list[bytes] = []

    def run(self, keep_folder: bytes | None) -> None:
        tasks = [
            self._staged(number, step, signature)
            for number, (step, signature) in enumerate(self._still_to_do())
        ]
        self._staging.complete()
        try:
            self._apply(tasks, keep_folder)
        except BaseException as failure:
            self.not_rolled_back = self._changes.roll_back()
            if isinstance(failure, FilesChanged | RestoreFailed):
                failure.not_rolled_back = tuple(self.not_rolled_back)
            raise

    def _still_to_do(self) -> list[tuple[Step, Signature | None]]:
        """Returns the steps that are not done already, with the file that is there now."""
        todo: list[tuple[Step, Signature | None]] = []
        changed: list[bytes] = []
        for step in (*self._plan.remove, *self._plan.write):
            with _blaming(step.path):
                found = self._worktree.inspect(step.path)
            if _is_at(found.side, step.target):
                continue
            if _is_at(found.side, step.present):
                todo.append((step, found.signature if found.side else None))
            else:
                changed.append(step.path)
        if changed:
            raise FilesChanged(changed)
        return todo

    def _staged(self, number: int, step: Step, signature: Signature | None) -> _Task:
        with _blaming(step.path):
            place = self._staging.place(b"%d" % number, step.path)
            if step.target is not None:
                like = signature.mode if signature and stat.S_ISREG(signature.mode) else None
                self._staging.write(place, step.target, self._blobs, like)
        return _Task(step, place, signature)

    def _apply(self, tasks: Sequence[_Task], keep_folder: bytes | None) -> None:
        removals = [task for task in tasks if task.step.target is None]
        writes = [task for task in tasks if task.step.target is not None]
        for task in removals:
            self._do(task, len(tasks))
        self._remove_emptied_folders(keep_folder)
        for task in writes:
            self._do(task, len(tasks))
        # A program may have had one of them open and written to it after it was moved.
        changed = [
            task.step.path
            for task in tasks
            if task.signature and signature_at(task.place) != task.signature
        ]
        if changed:
            raise FilesChanged(changed)

    def _do(self, task: _Task, total: int) -> None:
        path = task.step.path
        with _blaming(path):
            if task.signature is None:
                self._changes.add(path, task.place)
            elif task.step.target is None:
                self._changes.remove(path, task.place, task.signature)
            else:
                self._changes.replace(path, task.place, task.signature)
        self._done += 1
        if self._on_progress is not None:
            anyio.from_thread.run_sync(self._on_progress, self._done, total)

    def _remove_emptied_folders(self, keep_folder: bytes | None) -> None:
        """Returns those of removed files only, and none that the target has."""
        kept = folders_of(
            [
                *(step.path for step in self._plan.write),
                *([keep_folder + b"/"] if keep_folder else []),
            ]
        )
        emptied = folders_of(step.path for step in self._plan.remove) - kept
        for folder in sorted(emptied, key=lambda path: path.count(b"/"), reverse=True):
            self._changes.remove_folder(folder)
