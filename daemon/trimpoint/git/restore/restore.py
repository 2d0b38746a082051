"""Restores files by a plan: either all of its steps or none.

No content that is not in a checkpoint is ever lost. All new contents are staged first. Then each
file is exchanged with its staged one in one move, and the old file is checked: if it is not the
expected one, everything is rolled back. The old files are kept until the end, so a rollback needs
no disk space. A path that is in its target state already is skipped, so that a killed restore is
completed by running it again.
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
from trimpoint.git.plumbing.worktree import Found, Signature, Worktree, folders_of, like_names
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
    """Carries out `plan`, including its conflicts: the caller decides whether to override them
    (`plan.forced`).

    Folders that become empty are removed, except `keep_folder` (relative to the work tree) and the
    folders above it. `on_progress(done, total)` is called after each path; if it raises, everything
    is rolled back. Cancellation does not interrupt it.

    :raises FilesChanged: when a path is neither in its `present` nor in its `target` state; nothing
        has changed
    :raises RestoreFailed: when the file system refused; nothing has changed except the paths in the
        error
    :raises GitFailed: when a content is missing from the repository; nothing has changed
    """
    async with worktree_lock(repository, _LOCK_DEADLINE_S):
        await anyio.to_thread.run_sync(_restore, repository, plan, keep_folder, on_progress)


class _Task(NamedTuple):
    """A step that must be done, the place where its new file is staged or its old file will be
    moved to, and the signature of the present file.
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
        with _errors_about(b"."):
            staging.clear(blobs)
        work = _Restore(plan, worktree, staging, blobs, on_progress)
        try:
            work.run(keep_folder)
        finally:
            if work.not_rolled_back:
                staging.rescue(blobs)
            staging.close()


@contextlib.contextmanager
def _errors_about(path: bytes) -> Generator[None]:
    """Converts errors of the file system into errors about `path`."""
    try:
        yield
    except (Unexpected, FileExistsError, FileNotFoundError, NotADirectoryError):
        # A file appeared or disappeared after it was inspected.
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
        self._like_names = like_names(step.path for step in (*plan.remove, *plan.write))
        self.not_rolled_back: list[bytes] = []

    def run(self, keep_folder: bytes | None) -> None:
        tasks = [
            self._staged(number, step, signature)
            for number, (step, signature) in enumerate(self._pending_steps())
        ]
        self._staging.complete()
        try:
            self._apply(tasks, keep_folder)
        except BaseException as failure:
            self.not_rolled_back = self._changes.roll_back()
            if isinstance(failure, FilesChanged | RestoreFailed):
                failure.not_rolled_back = tuple(self.not_rolled_back)
            raise

    def _pending_steps(self) -> list[tuple[Step, Signature | None]]:
        """Returns the steps whose paths are not in their target state yet, each with the signature
        of the present file.

        :raises FilesChanged: when a path is neither in its `present` nor in its `target` state
        """
        todo: list[tuple[Step, Signature | None]] = []
        changed: list[bytes] = []
        for step in (*self._plan.remove, *self._plan.write):
            with _errors_about(step.path):
                found = self._inspect(step.path)
            if _is_at(found.side, step.target):
                continue
            if _is_at(found.side, step.present):
                todo.append((step, found.signature if found.side else None))
            else:
                changed.append(step.path)
        if changed:
            raise FilesChanged(changed)
        return todo

    def _inspect(self, path: bytes) -> Found:
        """Returns the state of a path, or that there is nothing if the file system finds another
        path of the plan by this name. After a rename that changes only the case of a name, both are
        one file on many file systems: the one is removed, and the other is still to be written.
        """
        if path in self._like_names:
            on_disk = self._worktree.path_on_disk(path)
            if on_disk != path and on_disk in self._like_names:
                return Found()
        return self._worktree.inspect(path)

    def _staged(self, number: int, step: Step, signature: Signature | None) -> _Task:
        with _errors_about(step.path):
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
        # A program may have had an old file open and written to it after it was moved.
        changed = [
            task.step.path
            for task in tasks
            if task.signature and signature_at(task.place) != task.signature
        ]
        if changed:
            raise FilesChanged(changed)

    def _do(self, task: _Task, total: int) -> None:
        path = task.step.path
        with _errors_about(path):
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
        """Removes the empty folders above removed files, except those that the target has."""
        kept = folders_of(
            [
                *(step.path for step in self._plan.write),
                *([keep_folder + b"/"] if keep_folder else []),
            ]
        )
        emptied = folders_of(step.path for step in self._plan.remove) - kept
        for folder in sorted(emptied, key=lambda path: path.count(b"/"), reverse=True):
            self._changes.remove_folder(folder)
