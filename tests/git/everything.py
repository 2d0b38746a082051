"""All that trimpoint does with git in a folder, for repositories that mean harm."""

import contextlib
from pathlib import Path

from trimpoint.git.capture.capture import capture
from trimpoint.git.capture.refs import (
    checkpoint_ref,
    delete_refs,
    find,
    keep,
    list_refs,
    refs_disk_bytes,
)
from trimpoint.git.capture.upkeep import collect, remove_all, upkeep
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.compare import changes, diff
from trimpoint.git.plumbing.repository import Repository, discover
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.git.restore.taking_back import Leg, commit_of, take_back

from tests.git.worktrees import write

_NO_COMMIT = "2" * 40 + "\n"


async def everything(folder: Path) -> None:
    """Does all that trimpoint does with git in a folder. What is refused is refused."""
    repository = await discover(folder)
    if not isinstance(repository, Repository):
        return
    for step in (_there_and_back, _of_older_versions, _looked_at):
        with contextlib.suppress(GitError):
            await step(repository)
    for work in (upkeep, collect, remove_all):
        with contextlib.suppress(GitError):
            await work(repository)


async def _there_and_back(repository: Repository) -> None:
    first = (await capture(repository)).commit
    await keep(repository, checkpoint_ref("t", "1"), first)
    write(repository.worktree, {"a": "four", "untracked": "y", "new": "z"})
    second = (await capture(repository)).commit
    await changes(repository, first, second)
    await diff(repository, first, second)
    taking = await take_back(repository, first, [Leg(second, "thread")])
    await commit_of(repository, taking)
    plan = await plan_restore(repository, present=second, last_seen=second, target=first)
    await restore(repository, plan.forced())


async def _of_older_versions(repository: Repository) -> None:
    # Not by git, which would spring the traps.
    branch = next((repository.git_dir / "refs" / "heads").iterdir(), None)
    commit = branch.read_text() if branch is not None else _NO_COMMIT
    old = {checkpoint_ref("t", "old"): commit}
    write(repository.git_dir, old)
    await upkeep(repository)
    write(repository.git_dir, old)
    await delete_refs(repository, list(old))


async def _looked_at(repository: Repository) -> None:
    await list_refs(repository)
    await find(repository, checkpoint_ref("t", "1"))
    await refs_disk_bytes(repository)
