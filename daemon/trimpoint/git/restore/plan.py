"""Plans a restore: the paths that it would change, and the conflicts. Writes nothing.

Files that no checkpoint of the thread has ever seen are kept. A file that would be overwritten and
whose content is in no checkpoint is not overwritten even with force.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import Omission
from trimpoint.git.capture.refs import find_all
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.compare import Difference, Side, differences
from trimpoint.git.plumbing.process import git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.plumbing.worktree import Worktree
from trimpoint.system import SYSTEM

ConflictReason = Literal["changed", "unknown", "found", "open", "inTheWay"]

_DEADLINE_S = 60.0


class Step(msgspec.Struct, frozen=True):
    """The change of one path from `present` to `target`; None stands for no file."""

    path: bytes
    present: Side | None
    target: Side | None


class Conflict(msgspec.Struct, frozen=True):
    """A reason why the restore of the path `step` would overwrite changes of others. `path` is the
    path with the conflict.

    `changed`: `path` was changed by others after the thread changed it. `unknown`: the author of a
    change is unknown. `found`: the author is unknown, and the thread is not known to have changed
    the path. `open`: a process has `path` open for writing. `inTheWay`: `path` is in no checkpoint
    (mostly because it is ignored) and is where a file or folder must be written.
    """

    path: bytes
    reason: ConflictReason
    step: bytes


class RestorePlan(msgspec.Struct, frozen=True):
    """The steps of a restore, sorted by path, with writes and removals apart.

    `kept_unknown` are files of others that stay; `left_alone` are the omissions of the checkpoints
    and files outside a sparse checkout.
    """

    write: tuple[Step, ...] = ()
    remove: tuple[Step, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    kept_unknown: tuple[bytes, ...] = ()
    left_alone: tuple[Omission, ...] = ()

    def forced(self) -> "RestorePlan":
        """Returns a plan that overwrites the changes of others. Steps that would lose content which
        is in no checkpoint are left out.
        """
        blocked = {conflict.step for conflict in self.conflicts if conflict.reason == "inTheWay"}
        write = tuple(step for step in self.write if step.path not in blocked)
        return msgspec.structs.replace(self, write=write, conflicts=())

    def reversed(self) -> "RestorePlan":
        """Returns the plan that undoes this one."""
        steps = [Step(step.path, step.target, step.present) for step in (*self.write, *self.remove)]
        return msgspec.structs.replace(
            self, write=_writes(steps), remove=_removals(steps), conflicts=()
        )


async def plan_restore(
    repository: Repository, *, present: str, last_seen: str, target: str
) -> RestorePlan:
    """Returns the plan that changes the files to those of `target`.

    All three are commits of `capture`: `present` was captured just now, `last_seen` is the thread's
    newest capture before that, and `target` is to be restored. The same three commits give the same
    steps again, so that an interrupted restore can be continued.

    :raises GitFailed: when a checkpoint is missing, or git failed
    """
    now, seen, goal = await _found(repository, present, last_seen, target)
    to_do = await differences(repository, now.state, goal.state)
    meanwhile = {each.path: each for each in await differences(repository, seen.state, now.state)}
    left_alone = [*now.left_out, *goal.left_out, *await sparse_paths(repository)]
    plan = _steps(to_do, meanwhile, left_alone)
    changed = [
        Conflict(step.path, "changed", step.path)
        for step in (*plan.write, *plan.remove)
        if step.path in meanwhile
    ]
    found = await anyio.to_thread.run_sync(look_around, repository, plan)
    return msgspec.structs.replace(plan, conflicts=(*changed, *found))


async def _found(repository: Repository, *commits: str) -> list[Checkpoint]:
    found = await find_all(repository, commits)
    for commit, checkpoint in zip(commits, found, strict=True):
        if checkpoint is None:
            raise GitFailed("read a checkpoint", f"there is no checkpoint {commit}")
    return [checkpoint for checkpoint in found if checkpoint is not None]


async def sparse_paths(repository: Repository) -> list[Omission]:
    """Returns the tracked files that are outside a sparse checkout, and not on disk. In any other
    checkout, `git update-index --skip-worktree` says nothing about what a restore may write.

    :raises GitFailed: when git failed
    """
    git = ShadowRepository(repository, _DEADLINE_S)
    is_sparse = ("config", "--type=bool", "--default=false", "--get", "core.sparseCheckout")
    answer = await git_answer(git.users(*is_sparse, doing="read whether the checkout is sparse"))
    if answer.strip() != b"true":
        return []
    listed = await git_answer(git.users("ls-files", "-t", "-z", doing="list the tracked files"))
    skipped = [line[2:] for line in listed.split(b"\0") if line.startswith(b"S ")]
    absent = await anyio.to_thread.run_sync(_absent, repository.worktree, skipped)
    return [Omission(path, "sparse") for path in absent]


def _absent(root: Path, paths: Iterable[bytes]) -> list[bytes]:
    top = os.fsencode(root)
    return [path for path in paths if not os.path.lexists(os.path.join(top, path))]


def _steps(
    to_do: Iterable[Difference], meanwhile: dict[bytes, Difference], left_alone: Sequence[Omission]
) -> RestorePlan:
    steps: list[Step] = []
    unknown: list[bytes] = []
    # The plan lists every file that is left alone; files outside a sparse checkout only if a step
    # concerns them.
    left = {each.path: each for each in left_alone if each.reason != "sparse"}
    covering = Covering(left_alone)
    for each in to_do:
        cover = covering.of(each.path)
        if cover is not None:
            left[cover.path] = cover
        elif each.new is None and each.path in meanwhile and meanwhile[each.path].old is None:
            unknown.append(each.path)
        else:
            steps.append(Step(each.path, each.old, each.new))
    return plan_of(steps, tuple(left.values()), tuple(unknown))


def plan_of(
    steps: Sequence[Step], left_alone: tuple[Omission, ...], kept_unknown: tuple[bytes, ...] = ()
) -> RestorePlan:
    """Returns a plan of these steps without conflicts."""
    return RestorePlan(_writes(steps), _removals(steps), (), kept_unknown, left_alone)


class Covering:
    """Finds the omission that covers a path, with one lookup for each of its folders."""

    def __init__(self, left_alone: Sequence[Omission]) -> None:
        self._by_path = {each.path: each for each in left_alone}

    def of(self, path: bytes) -> Omission | None:
        """Returns the omission that covers `path`, or None."""
        parts = path.split(b"/")
        folders = (b"/".join(parts[:depth]) + b"/" for depth in range(1, len(parts)))
        return next(
            (
                self._by_path[name]
                for name in (path, path + b"/", *folders)
                if name in self._by_path
            ),
            None,
        )


def _writes(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.target is not None)


def _removals(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.target is None)


def look_around(repository: Repository, plan: RestorePlan) -> list[Conflict]:
    """Returns the conflicts that exist at this moment: files open for writing, and files in the
    way. Blocking.
    """
    steps = [*plan.write, *plan.remove]
    opened = open_for_writing(repository.worktree, [step.path for step in steps])
    conflicts = [Conflict(path, "open", path) for path in sorted(opened)]
    removed = {step.path for step in plan.remove}
    with Worktree(repository.worktree, repository.hash_name) as worktree:
        for step in plan.write:
            blocker = _blocker(worktree, repository.worktree, step, removed)
            if blocker is not None:
                conflicts.append(Conflict(blocker, "inTheWay", step.path))
    return conflicts


def _blocker(worktree: Worktree, root: Path, step: Step, removed: set[bytes]) -> bytes | None:
    """Returns the path of a file that is in no checkpoint and is where the step must write a file
    or folder, or None.
    """
    parts = step.path.split(b"/")
    for depth in range(1, len(parts)):
        folder = b"/".join(parts[:depth])
        signature = worktree.signature(folder)
        if signature is None or folder in removed:
            return None
        if not stat.S_ISDIR(signature.mode):
            return folder
    return None if step.present else _occupant(worktree, root, step, removed)


def _occupant(worktree: Worktree, root: Path, step: Step, removed: set[bytes]) -> bytes | None:
    try:
        found = worktree.inspect(step.path)
    except OSError:
        return step.path
    if found.is_folder:
        return next((path for path in _files_below(root, step.path) if path not in removed), None)
    if worktree.path_on_disk(step.path) in removed:
        return None
    is_target = step.target is not None and step.target.is_met_by(found.side)
    return None if found.side is None or is_target else step.path


def _files_below(root: Path, folder: bytes) -> Iterator[bytes]:
    top = os.fsencode(root)
    for at, folders, files in os.walk(os.path.join(top, folder)):
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(at, name), top)


def open_for_writing(worktree: Path, paths: Collection[bytes]) -> set[bytes]:
    """Returns those of `paths` (relative to `worktree`) that another process has open for writing
    now.
    """
    if not paths:
        return set()
    prefix = os.fsencode(worktree).rstrip(b"/") + b"/"
    found = {file.removeprefix(prefix) for file in SYSTEM.written_by_others(prefix)}
    return found & set(paths)
