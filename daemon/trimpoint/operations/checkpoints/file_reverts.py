"""The file part of a revert (docs/spec/checkpoints.md): makes a safety checkpoint, writes only
files that differ, and restores them if the revert fails.

The restore plan is computed again in each step and never stored, because it follows from three
commits, which are in the journal.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.core.decide.file_history import file_history
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import block_text, busy
from trimpoint.core.model.state import Reverting
from trimpoint.git.capture.capture import Checkpoint, capture
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import checkpoint_ref, find, keep
from trimpoint.git.errors import FilesChanged, GitError, name_path
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover
from trimpoint.git.restore.plan import Conflict, RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.git.restore.taking_back import Leg, TakingBack, commit_of, take_back
from trimpoint.operations.checkpoints.turn_captures import TurnCaptures
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.worktrees import Preview, Restored, Secured, WorktreeRefuses
from trimpoint.threads.writing.writer import ThreadWriter

SHOWN_PATHS = 10
MAX_PATHS = 1_000
FORCE_HINT = (
    "Save or undo those changes and try again, or revert with --force: the safety checkpoint will "
    "have them."
)


class _Looked(NamedTuple):
    """The worktree before a revert: its present files, the changes that the revert makes, and the
    files that would be lost.
    """

    repository: Repository
    present: Checkpoint
    taking: TakingBack
    lost: list[str]


class FileReverts:
    """Implements `trimpoint.threads.worktrees.Worktrees` with git."""

    def __init__(self, registry: ThreadRegistry, captures: TurnCaptures) -> None:
        self._registry = registry
        self._captures = captures

    async def captured(self, writer: ThreadWriter) -> None:
        """Waits for the capture of the last turn; see `Worktrees.captured`."""
        await self._captures.last_turn_captured(writer)

    async def preview(self, writer: ThreadWriter, reverting: Reverting) -> Preview:
        """Returns what a revert would do to the files; see `Worktrees.preview`."""
        async with self._captures.in_order(writer.thread_id):
            looked = await self._look(writer, reverting)
        return Preview(*_paths(looked.taking), tuple(looked.lost))

    async def secure(
        self, writer: ThreadWriter, reverting: Reverting, operation_id: str
    ) -> Secured:
        """Makes the safety checkpoint and plans the revert; see `Worktrees.secure`."""
        async with self._captures.in_order(
            writer.thread_id
        ):  # the last turn's files are captured first
            self._refuse_if_others_work(writer, reverting)
            looked = await self._look(writer, reverting)
            if looked.lost and not reverting.force:
                raise WorktreeRefuses(
                    Reason.FILES_CHANGED, f"files would be lost: {_some(looked.lost)}.", FORCE_HINT
                )
            try:
                return await self._kept(writer, reverting, operation_id, looked)
            except GitError as error:
                raise WorktreeRefuses(Reason.WORKTREE_FAILED, str(error)) from error

    async def _kept(
        self, writer: ThreadWriter, reverting: Reverting, operation_id: str, looked: _Looked
    ) -> Secured:
        repository, present, taking, _ = looked
        target = await commit_of(repository, taking)
        safety_ref = checkpoint_ref(writer.thread_id, f"safety-{present.commit[:12]}")
        target_ref = checkpoint_ref(writer.thread_id, f"reverted-{target[:12]}")
        await keep(repository, safety_ref, present.commit)
        await keep(repository, target_ref, target)
        notes = tuple(notes_of(present.left_out))
        safety = ev.CheckpointCaptured(
            None, "safety", reverting.repository, safety_ref, present.commit, notes
        )
        return Secured(safety, ev.RevertPlanned(operation_id, target_ref, target, *_paths(taking)))

    async def _look(self, writer: ThreadWriter, reverting: Reverting) -> _Looked:
        try:
            repository = await _repository(reverting)
            await self._captures.catch_up(writer)
            present = await capture(repository, self._captures.rules)
            if await find(repository, reverting.commit) is None:
                raise WorktreeRefuses(
                    Reason.CHECKPOINT_NOT_FOUND, "its checkpoint is no longer in the repository."
                )
            history = file_history(writer.state, reverting)
            legs = [
                *(Leg(leg.commit, leg.author) for leg in history.legs),
                Leg(present.commit, history.now),
            ]
            taking = await take_back(repository, history.start, legs)
            lost = [*_named(taking.plan.conflicts), *await _unsteady(repository, writer, present)]
        except GitError as error:
            raise WorktreeRefuses(Reason.WORKTREE_FAILED, str(error)) from error
        if reverting.force:
            taking = msgspec.structs.replace(taking, plan=taking.plan.forced())
        return _Looked(repository, present, taking, lost)

    async def restore(self, writer: ThreadWriter, reverting: Reverting) -> Restored:
        """Writes the files of the revert's target; see `Worktrees.restore`."""
        return await self._write(writer, reverting, back=False)

    async def undo(self, writer: ThreadWriter, reverting: Reverting) -> None:
        """Restores the files from before the revert; see `Worktrees.undo`."""
        await self._write(writer, reverting, back=True)

    async def _write(self, writer: ThreadWriter, reverting: Reverting, *, back: bool) -> Restored:
        try:
            repository = await _repository(reverting)
            async with self._captures.in_order(writer.thread_id):
                plan = await _plan(repository, writer, reverting)
                plan = plan.forced() if reverting.force else plan
                folder = _relative(repository, self._captures.folder_of(writer.state))
                await restore(repository, plan.reversed() if back else plan, keep_folder=folder)
        except FilesChanged as error:
            raise WorktreeRefuses(
                Reason.FILES_CHANGED, _changed(error.paths), FORCE_HINT
            ) from error
        except GitError as error:
            raise WorktreeRefuses(Reason.WORKTREE_FAILED, str(error)) from error
        return Restored(len(plan.write), len(plan.remove))

    def _refuse_if_others_work(self, writer: ThreadWriter, reverting: Reverting) -> None:
        if reverting.force:
            return
        for other in self._registry.loaded_writers():
            same = other.thread_id != writer.thread_id and _works_in(other, reverting.repository)
            if same and (block := busy(other.state)) is not None:
                name = other.state.name or other.thread_id
                raise WorktreeRefuses(
                    Reason.FILES_CHANGED,
                    f"the thread {name} works in the same worktree: {block_text(block)}.",
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


async def _plan(repository: Repository, writer: ThreadWriter, reverting: Reverting) -> RestorePlan:
    # An earlier version journaled no plan; its revert is completed as that version would have done.
    known = reverting.safety if reverting.planned else writer.state.known_files or reverting.commit
    return await plan_restore(
        repository, present=reverting.safety, last_seen=known, target=reverting.files
    )


def _paths(taking: TakingBack) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Returns the paths that are written, those that are removed, and those that stay because
    others changed them.
    """
    written, removed = (
        [step.path for step in steps] for steps in (taking.plan.write, taking.plan.remove)
    )
    named = [
        tuple(name_path(path) for path in paths[:MAX_PATHS])
        for paths in (written, removed, taking.kept)
    ]
    return named[0], named[1], named[2]


def _relative(repository: Repository, folder: str) -> bytes | None:
    try:
        return os.fsencode(Path(folder).resolve().relative_to(repository.worktree))
    except ValueError:
        return None


_CONFLICTS = {
    "changed": "others changed it after the thread did",
    "unknown": "it changed while trimpoint did not watch it, so others may have changed it",
    "found": "it was changed after the turn had ended, before its files were captured",
    "open": "a program has it open for writing",
    "inTheWay": "it is in no checkpoint and in the way",
}


def _named(conflicts: Iterable[Conflict]) -> list[str]:
    return [f"{name_path(conflict.path)} ({_CONFLICTS[conflict.reason]})" for conflict in conflicts]


async def _unsteady(repository: Repository, writer: ThreadWriter, present: Checkpoint) -> list[str]:
    """Returns the files that the thread's last checkpoint could read but that cannot be read now,
    for example because a program is writing them.
    """
    known = await find(repository, writer.state.known_files) if writer.state.known_files else None
    before = known.left_out if known is not None else ()
    news = [each for each in present.left_out if each.reason == "unreadable" and each not in before]
    return [
        f"{name_path(each.path)} (it cannot be read, or is being written just now)" for each in news
    ]


def _changed(paths: Iterable[bytes]) -> str:
    return f"files were changed meanwhile: {_some([name_path(path) for path in paths])}."


def _some(named: Sequence[str]) -> str:
    rest = len(named) - SHOWN_PATHS
    return ", ".join(named[:SHOWN_PATHS]) + (f" and {rest} more" if rest > 0 else "")
