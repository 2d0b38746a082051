"""The files' part of a revert (docs/spec/checkpoints.md): secured first, restored only where they differ, put back when it goes wrong.

`plan_restore` is asked again in every step instead of being kept: it follows from three commits, and those are journaled.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.core.model.state import Reverting
from trimpoint.git.capture.capture import Checkpoint, capture
from trimpoint.git.capture.refs import checkpoint_ref, find, keep
from trimpoint.git.errors import FilesChanged, GitError, name_path
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover
from trimpoint.git.restore.plan import Conflict, RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.operations.checkpoints.turn_captures import TurnCaptures
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.worktrees import Restored, WorktreeRefuses
from trimpoint.threads.writer import ThreadWriter

SHOWN_PATHS = 10
FORCE_HINT = "Save or undo those changes and try again, or revert with --force: the safety checkpoint will have them."


class FileReverts:
    """`trimpoint.threads.worktrees.Worktrees`, on git."""

    def __init__(self, engine: ThreadRegistry, captures: TurnCaptures) -> None:
        self._engine = engine
        self._captures = captures

    async def secure(self, writer: ThreadWriter, reverting: Reverting) -> ev.CheckpointCaptured:
        """See `Worktrees.secure`."""
        try:
            repository = await _repository(reverting)
            async with self._captures.in_order(writer.thread_id):  # what the last turn left is captured first
                self._refuse_if_others_work(writer, reverting)
                present = await capture(repository, self._captures.limits)
                if await find(repository, reverting.commit) is None:
                    raise WorktreeRefuses(Reason.CHECKPOINT_NOT_FOUND, "its checkpoint is no longer in the repository.")
                plan = await _plan(repository, writer, reverting, present.commit)
                lost = [*_named(plan.conflicts), *await _unsteady(repository, writer, present)]
                if lost and not reverting.force:
                    raise WorktreeRefuses(Reason.FILES_CHANGED, f"files would be lost: {_some(lost)}.", FORCE_HINT)
                ref = checkpoint_ref(writer.thread_id, f"safety-{present.commit[:12]}")
                await keep(repository, ref, present.commit)
        except GitError as error:
            raise WorktreeRefuses(Reason.WORKTREE_FAILED, str(error)) from error
        notes = tuple(str(left_out) for left_out in present.left_out)
        return ev.CheckpointCaptured(None, "safety", reverting.repository, ref, present.commit, notes)

    async def restore(self, writer: ThreadWriter, reverting: Reverting) -> Restored:
        """See `Worktrees.restore`."""
        return await self._write(writer, reverting, back=False)

    async def undo(self, writer: ThreadWriter, reverting: Reverting) -> None:
        """See `Worktrees.undo`."""
        await self._write(writer, reverting, back=True)

    async def _write(self, writer: ThreadWriter, reverting: Reverting, *, back: bool) -> Restored:
        try:
            repository = await _repository(reverting)
            async with self._captures.in_order(writer.thread_id):
                plan = await _plan(repository, writer, reverting, reverting.safety)
                plan = plan.forced() if reverting.force else plan
                folder = _relative(repository, self._captures.folder_of(writer.state))
                await restore(repository, plan.reversed() if back else plan, keep_folder=folder)
        except FilesChanged as error:
            raise WorktreeRefuses(Reason.FILES_CHANGED, _changed(error.paths), FORCE_HINT) from error
        except GitError as error:
            raise WorktreeRefuses(Reason.WORKTREE_FAILED, str(error)) from error
        return Restored(len(plan.write), len(plan.remove))

    def _refuse_if_others_work(self, writer: ThreadWriter, reverting: Reverting) -> None:
        if reverting.force:
            return
        for other in self._engine.loaded_writers():
            same = other.thread_id != writer.thread_id and _works_in(other, reverting.repository)
            if same and (block := busy(other.state)) is not None:
                name = other.state.name or other.thread_id
                raise WorktreeRefuses(
                    Reason.FILES_CHANGED,
                    f"the thread {name} works in the same worktree, and is busy ({block.detail}).",
                    "Wait until it has ended, or revert with --force.",
                )


def _works_in(writer: ThreadWriter, worktree: str) -> bool:
    checkpoints = writer.state.checkpoints
    return bool(checkpoints) and checkpoints[-1].repository == worktree


async def _repository(reverting: Reverting) -> Repository:
    found = await discover(Path(reverting.repository))
    if isinstance(found, NoRepository):
        raise WorktreeRefuses(Reason.WORKTREE_FAILED, found.reason, found.hint)
    return found


async def _plan(repository: Repository, writer: ThreadWriter, reverting: Reverting, present: str) -> RestorePlan:
    known = writer.state.known_files or reverting.commit
    return await plan_restore(repository, present=present, last_seen=known, target=reverting.commit)


def _relative(repository: Repository, folder: str) -> bytes | None:
    try:
        return os.fsencode(Path(folder).resolve().relative_to(repository.worktree))
    except ValueError:
        return None


_CONFLICTS = {
    "changed": "somebody else has changed it since the thread last looked",
    "open": "a program has it open for writing",
    "inTheWay": "it is in no checkpoint and in the way",
}


def _named(conflicts: Iterable[Conflict]) -> list[str]:
    return [f"{name_path(conflict.path)} ({_CONFLICTS[conflict.reason]})" for conflict in conflicts]


async def _unsteady(repository: Repository, writer: ThreadWriter, present: Checkpoint) -> list[str]:
    """Files that the thread could read when it last looked and that cannot be read now, be it because somebody keeps writing them."""
    known = await find(repository, writer.state.known_files) if writer.state.known_files else None
    before = known.left_out if known is not None else ()
    news = [each for each in present.left_out if each.reason == "unreadable" and each not in before]
    return [f"{name_path(each.path)} (it cannot be read, or is being written just now)" for each in news]


def _changed(paths: Iterable[bytes]) -> str:
    return f"files were changed meanwhile: {_some([name_path(path) for path in paths])}."


def _some(named: Sequence[str]) -> str:
    rest = len(named) - SHOWN_PATHS
    return ", ".join(named[:SHOWN_PATHS]) + (f" and {rest} more" if rest > 0 else "")
