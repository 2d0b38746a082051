"""Handles `checkpoint/list`, `checkpoint/diff` and `checkpoint/file`: lists the checkpoints of a
thread, compares their files and reads them. No handler writes to a worktree.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.shapes import checkpoints as cp

from trimpoint.config.sections import CheckpointsSection
from trimpoint.core.decide.revisions import Revision, TurnFiles, resolve_range, turn_files
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.state import Checkpoint, ThreadState
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.git.capture.capture import capture
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import find
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.compare import Change, Diff, changes, content, diff
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover
from trimpoint.threads.registry import ThreadRegistry

MAX_FILES = 10_000
_MAX_REMEMBERED = 10_000
# Where git looks for a zero byte to tell that a file is binary.
_LOOKED_AT_BYTES = 8000


class CheckpointMethods:
    """Handles the methods that read checkpoints. `table` maps method names to handlers."""

    def __init__(
        self, registry: ThreadRegistry, identity: Identity, limits: CheckpointsSection
    ) -> None:
        self._registry = registry
        self._identity = identity
        self._limits = limits
        self._counted: dict[tuple[str, str], cp.FilesChanged] = {}
        self.table: dict[str, Handler] = {
            "checkpoint/list": self._list,
            "checkpoint/diff": self._diff,
            "checkpoint/file": self._file,
        }

    async def _list(self, call: Call, params: cp.CheckpointListParams) -> cp.CheckpointList:
        state = await self._state(params.thread_id)
        first = max(0, len(state.turns) + 1 - params.limit)
        rows = list(turn_files(state, first=first))
        newest = next((one for one in reversed(state.checkpoints) if one.commit), None)
        found = (
            await discover(Path(newest.repository))
            if newest is not None and params.changes
            else None
        )
        repository = found if isinstance(found, Repository) else None
        safety = next(
            (one.commit for one in reversed(state.checkpoints) if one.moment == "safety"), None
        )
        turns = [_row(state, row, await self._changed(repository, row)) for row in rows]
        return cp.CheckpointList(
            repository=newest.repository if newest is not None else None,
            turns=turns,
            older=first,
            safety=safety,
        )

    async def _diff(self, call: Call, params: cp.CheckpointDiffParams) -> cp.CheckpointDiff:
        points = await self._points(params.thread_id, params.older, params.newer)
        repository = await _repository(points)
        older, newer = [await self._side(repository, point) for point in points]
        return await _compared(repository, older, newer, params)

    async def _points(
        self, thread_id: str, older: str | None, newer: str | None
    ) -> tuple[Revision, Revision]:
        points = resolve_range(await self._state(thread_id), older, newer)
        if isinstance(points, Rejected):
            raise Refusal(
                points.reason, points.message, "`trimpoint checkpoints` lists the checkpoints."
            )
        return points

    async def _file(self, call: Call, params: cp.CheckpointFileParams) -> cp.FileContent:
        points = await self._points(params.thread_id, params.moment, params.moment)
        repository = await _repository(points)
        commit, _ = await self._side(repository, points[0])
        found = await content(repository, commit, params.path.encode(), cp.MAX_DIFF_BYTES)
        if found is None:
            raise Refusal(
                Reason.CHECKPOINT_NOT_FOUND, f"The checkpoint has no file {params.path!r}."
            )
        is_binary = b"\0" in found.text[:_LOOKED_AT_BYTES]
        return cp.FileContent(
            path=params.path,
            text=None if is_binary else found.text.decode(errors="replace"),
            binary=is_binary,
            truncated=found.truncated,
        )

    async def _state(self, thread_id: str) -> ThreadState:
        return (await self._registry.thread(self._identity.thread_of(thread_id) or thread_id)).state

    async def _changed(
        self, repository: Repository | None, row: TurnFiles
    ) -> cp.FilesChanged | None:
        """Returns how many files and lines the turn changed, or None if that is unknown. The result
        is cached, because commits never change.
        """
        if repository is None or row.before is None or row.after is None:
            return None
        pair = row.before.commit, row.after.commit
        if pair not in self._counted:
            try:
                counted = _total(await changes(repository, *pair) if pair[0] != pair[1] else [])
            except GitError:
                return None
            if len(self._counted) >= _MAX_REMEMBERED:
                self._counted.clear()
            self._counted[pair] = counted
        return self._counted[pair]

    async def _side(self, repository: Repository, point: Revision) -> tuple[str, cp.DiffSide]:
        checkpoint = point.checkpoint
        if checkpoint is None:
            present = await capture(repository, self._limits)
            notes = notes_of(present.left_out)
            now = rfc3339(time.time_ns() // 1_000_000)
            return present.commit, cp.DiffSide(
                label=point.label, commit=None, captured_at=now, notes=notes
            )
        if await find(repository, checkpoint.commit) is None:
            raise Refusal(
                Reason.CHECKPOINT_NOT_FOUND,
                f"The checkpoint of the files {point.label} is no longer in the repository.",
            )
        return checkpoint.commit, cp.DiffSide(
            label=point.label,
            commit=checkpoint.commit,
            captured_at=rfc3339(checkpoint.created_at_ms),
            notes=list(checkpoint.notes),
        )


async def _repository(points: tuple[Revision, Revision]) -> Repository:
    folders = {point.checkpoint.repository for point in points if point.checkpoint is not None}
    if len(folders) != 1:
        told = " and ".join(sorted(folders)) or "none"
        raise Refusal(
            Reason.CHECKPOINT_NOT_FOUND, f"These are not two states of one worktree: {told}."
        )
    found = await discover(Path(folders.pop()))
    if isinstance(found, NoRepository):
        raise Refusal(Reason.WORKTREE_FAILED, found.reason, found.hint)
    return found


async def _compared(
    repository: Repository,
    older: tuple[str, cp.DiffSide],
    newer: tuple[str, cp.DiffSide],
    params: cp.CheckpointDiffParams,
) -> cp.CheckpointDiff:
    files = await changes(repository, older[0], newer[0])
    paths = [path.encode() for path in params.paths]
    text = Diff(b"", truncated=False)
    if files and params.max_bytes:
        text = await diff(repository, older[0], newer[0], paths=paths, max_bytes=params.max_bytes)
    listed = [change for change in files if _is_wanted(change, paths)]
    return cp.CheckpointDiff(
        repository=str(repository.worktree),
        older=older[1],
        newer=newer[1],
        changed=_total(listed),
        files=[_file(change) for change in listed[:MAX_FILES]],
        diff=text.text.decode(errors="replace") if params.max_bytes else None,
        truncated=text.truncated,
    )


def _is_wanted(change: Change, paths: Sequence[bytes]) -> bool:
    named = (change.path, change.old_path)
    return not paths or any(
        name is not None and (name == path or name.startswith(path.rstrip(b"/") + b"/"))
        for path in paths
        for name in named
    )


def _total(files: Sequence[Change]) -> cp.FilesChanged:
    return cp.FilesChanged(
        files=len(files),
        additions=sum(change.additions or 0 for change in files),
        deletions=sum(change.deletions or 0 for change in files),
    )


def _file(change: Change) -> cp.FileChange:
    return cp.FileChange(
        path=_text(change.path),
        old_path=_text(change.old_path) if change.old_path is not None else None,
        status=change.status,
        additions=change.additions,
        deletions=change.deletions,
        binary=change.binary,
    )


def _text(path: bytes) -> str:
    return path.decode(errors="backslashreplace")


def _row(state: ThreadState, row: TurnFiles, changed: cp.FilesChanged | None) -> cp.TurnCheckpoint:
    made: Checkpoint | None = row.after
    return cp.TurnCheckpoint(
        number=row.number,
        turn_id=row.turn.id if row.turn is not None else None,
        prompt=row.prompt,
        status=row.turn.status if row.turn is not None else None,
        trimmed=0 < row.number <= state.active_from_turn,
        captured_at=rfc3339(made.created_at_ms) if made is not None else None,
        commit=made.commit if made is not None else None,
        ref=made.ref if made is not None else None,
        notes=list(row.notes),
        problem=row.problem or None,
        changed=changed,
    )
