"""Computes how to take back the changes that one author made to the files, and to keep those of
others.

A change of others is never undone without being named. If only changes of the author lie between a
path's former and present state, the path is restored; changes that others made before the author's
first change of the path are kept. If others changed a path after the author, that is a conflict.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import anyio
import msgspec

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import Omission, message_of
from trimpoint.git.capture.refs import find, find_all, users_refs
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.compare import Difference, Side, all_differences
from trimpoint.git.plumbing.locks import worktree_lock
from trimpoint.git.plumbing.permissions import LINK, Permissions
from trimpoint.git.plumbing.process import git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.plumbing.store import borrow
from trimpoint.git.restore.plan import (
    Conflict,
    ConflictReason,
    Covering,
    RestorePlan,
    Step,
    look_around,
    plan_of,
    sparse_paths,
)

Author = Literal["thread", "others", "unknown", "found"]

_DEADLINE_S = 120.0
_REASONS: dict[Author, ConflictReason] = {"others": "changed", "found": "found"}


class Leg(NamedTuple):
    """A captured state, and the author of the changes since the state before."""

    commit: str
    author: Author


class TakingBack(msgspec.Struct, frozen=True):
    """The plan that removes the thread's own changes from the present files.

    `kept` are the paths that others have changed since the start and that stay as they are.
    `present` is the commit of the newest state.
    """

    present: str
    plan: RestorePlan
    kept: tuple[bytes, ...]


class _Made(NamedTuple):
    """The author of the differences between two states. The files `ignoring_changed` appear or
    disappear without a change by anybody.
    """

    author: Author
    ignoring_changed: frozenset[bytes]

    def author_of(self, each: Difference) -> Author:
        appears_or_not = each.old is None or each.new is None
        # What the thread has not touched is like the work of others: it stays.
        return "others" if appears_or_not and each.path in self.ignoring_changed else self.author


class PathHistory:
    """The history of one path. `wanted` is its state without the thread's changes, `present` its
    present state; None stands for no file.
    """

    def __init__(self, start: Side | None) -> None:
        self.start = self.wanted = self.present = start
        # States that others made from the thread's changes, or the thread from those of others.
        self._mixed: list[tuple[Side | None, Author]] = []

    def becomes(self, side: Side | None, author: Author) -> None:
        """Records that `author` changed the path to `side`."""
        if author == "others" and self.present == self.wanted:
            self.wanted = side
        elif side != self.wanted and (author != "thread" or self.mixed is not None):
            self._mixed.append((side, self._combined_author(author)))
        self.present = side

    def _combined_author(self, author: Author) -> Author:
        if self.present == self.wanted:
            return author
        return "others" if "others" in (author, self.mixed) else "unknown"

    @property
    def mixed(self) -> Author | None:
        """Returns the author who, besides the thread, made the present state of the path; None if
        only the thread or only others made it.
        """
        if self.present == self.wanted:
            return None
        return next(
            (author for side, author in reversed(self._mixed) if side == self.present), None
        )


async def take_back(repository: Repository, start: str, legs: Sequence[Leg]) -> TakingBack:
    """Returns the plan that takes back the thread's changes among `legs`, the last of which is the
    present state.

    :raises GitFailed: when the first or the last state is missing, or git failed
    """
    states = await find_all(repository, [start, *(leg.commit for leg in legs)])
    first, last = states[0], states[-1]
    if first is None or last is None:
        raise GitFailed("read a checkpoint", "it is no longer in the repository")
    left_alone: dict[bytes, Omission] = {}
    captured, steps, lost = [first.state], list[_Made](), False
    for state, leg in zip(states[1:], legs, strict=True):
        if state is not None:
            captured.append(state.state)
            author: Author = "unknown" if lost else leg.author
            steps.append(_Made(author, state.ignoring_changed))
        lost = state is None
    for state in states:
        left_alone |= {each.path: each for each in (state.left_out if state is not None else ())}
    paths = _histories(zip(await all_differences(repository, captured), steps, strict=True))
    covering = [*left_alone.values(), *await sparse_paths(repository)]
    return await anyio.to_thread.run_sync(
        _taking_back, repository, legs[-1].commit, paths, covering
    )


async def commit_of(repository: Repository, taking: TakingBack) -> str:
    """Returns a new commit of the files as the plan will leave them. No ref refers to it.

    :raises GitFailed: when a content is missing, or the disk is full
    """
    if await users_refs(repository):
        # Some contents may be only in the user's repository, where older versions put them.
        await anyio.to_thread.run_sync(borrow, repository)
    async with worktree_lock(repository, _DEADLINE_S):
        private = ShadowRepository(repository, _DEADLINE_S)
        index = private.dir / "index.revert"
        try:
            await git_answer(
                private.run("read-tree", taking.present, doing="read a tree", index=index)
            )
            stdin = b"".join(_index_lines(taking.plan, len(taking.present)))
            arguments = ("update-index", "-z", "--index-info")
            await git_answer(private.run(*arguments, doing="make a tree", stdin=stdin, index=index))
            written = await git_answer(private.run("write-tree", doing="write a tree", index=index))
        finally:
            index.unlink(missing_ok=True)
        message = await _message(repository, taking)
        commit = await private.commit_tree(written.decode().strip(), message)
    return commit.id


async def _message(repository: Repository, taking: TakingBack) -> str:
    present = await find(repository, taking.present)
    permissions = _permissions(present, taking) if present is not None else None
    steps = {step.path for step in (*taking.plan.remove, *taking.plan.write)}
    ignoring_changed = present.ignoring_changed - steps if present is not None else ()
    return message_of(taking.plan.left_alone, permissions, ignoring_changed)


def _permissions(present: Checkpoint, taking: TakingBack) -> Permissions | None:
    """Returns the permissions of all files as the plan will leave them, or None if some are
    unknown.
    """
    sides = [(step.path, step.target) for step in (*taking.plan.remove, *taking.plan.write)]
    unknown = any(side and side.mode != LINK and side.permissions is None for _, side in sides)
    if present.permissions is None or unknown:
        return None
    return present.permissions.with_files(
        (path, side.mode, side.permissions) if side else (path, 0, None) for path, side in sides
    )


def _histories(legs: Iterable[tuple[list[Difference], _Made]]) -> dict[bytes, PathHistory]:
    paths: dict[bytes, PathHistory] = {}
    for differences, made in legs:
        for each in differences:
            if each.path not in paths:
                paths[each.path] = PathHistory(each.old)
            paths[each.path].becomes(each.new, made.author_of(each))
    return paths


def _taking_back(
    repository: Repository,
    present: str,
    paths: dict[bytes, PathHistory],
    left_alone: Sequence[Omission],
) -> TakingBack:
    covering = Covering(left_alone)
    steps: list[Step] = []
    conflicts: list[Conflict] = []
    kept: list[bytes] = []
    left = {each.path: each for each in left_alone if each.reason != "sparse"}
    for path, history in sorted(paths.items()):
        if history.present != history.wanted:
            if (cover := covering.of(path)) is not None:
                left[cover.path] = cover
                continue
            steps.append(Step(path, history.present, history.wanted))
            if (author := history.mixed) is not None:
                reason = _REASONS.get(author, "unknown")
                conflicts.append(Conflict(path, reason, path))
        elif history.wanted != history.start:
            kept.append(path)
    plan = plan_of(steps, tuple(left.values()))
    found = look_around(repository, plan)
    return TakingBack(
        present, msgspec.structs.replace(plan, conflicts=(*conflicts, *found)), tuple(kept)
    )


def _index_lines(plan: RestorePlan, digits: int) -> Iterator[bytes]:
    # Removals first: a file may take the place of a folder.
    for step in plan.remove:
        yield b"0 %s\t%s\0" % (b"0" * digits, step.path)
    for step in plan.write:
        assert step.target is not None
        yield b"%o %s\t%s\0" % (step.target.mode, step.target.blob.encode(), step.path)
