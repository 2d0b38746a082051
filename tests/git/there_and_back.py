"""Takes a work tree to another state, and restores the one before."""

from collections.abc import Callable
from pathlib import Path

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.restore.plan import RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import captured, contents, found, users_side


async def back_to(folder: Path, target: Checkpoint) -> RestorePlan:
    """Restores a checkpoint, as a thread would that has seen all changes."""
    repository = await found(folder)
    present = await captured(folder)
    plan = await plan_restore(
        repository, present=present.commit, last_seen=present.commit, target=target.commit
    )
    await restore(repository, plan)
    return plan


async def there_and_back(folder: Path, edit: Callable[[], object]) -> None:
    """Checks that a restore undoes `edit`, and that capturing does not change the person's git
    data.
    """
    before = users_side(folder)
    checkpoint = await captured(folder)
    assert users_side(folder) == before
    copy = contents(folder)
    edit()
    assert contents(folder) != copy
    await back_to(folder, checkpoint)
    assert contents(folder) == copy
