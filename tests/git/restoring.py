"""A work tree between two checkpoints, to be restored."""

from pathlib import Path
from typing import Any

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.restore.plan import RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import captured, contents, found, new_repository, write

_BEFORE: dict[str, str | bytes] = {
    "a": "1",
    "b": "1",
    "folder/c": "1",
    "swap/x": "1",
    "gone/deep/d": "1",
    "same": "0",
}


def _edit(folder: Path) -> None:
    write(folder, {"a": "2", "folder/c": "22", "new/deep/e": "2", "f": "2"})
    (folder / "b").unlink()
    (folder / "b").symlink_to("a")
    (folder / "swap" / "x").unlink()
    (folder / "swap").rmdir()
    (folder / "swap").write_text("2")
    (folder / "gone" / "deep" / "d").unlink()
    (folder / "gone" / "deep").rmdir()
    (folder / "gone").rmdir()


class Scene:
    """A worktree that was captured, edited and captured again."""

    def __init__(self, folder: Path) -> None:
        self.folder = new_repository(folder, _BEFORE)
        self.first: Checkpoint
        self.second: Checkpoint

    async def played(self) -> "Scene":
        self.first, self.before = await captured(self.folder), contents(self.folder)
        _edit(self.folder)
        self.second, self.after = await captured(self.folder), contents(self.folder)
        return self

    async def plan(self, *, last_seen: Checkpoint | None = None) -> RestorePlan:
        """Returns the plan to restore the first checkpoint from the present files."""
        present = await captured(self.folder)
        seen = (last_seen or self.second).commit
        return await plan_restore(
            await found(self.folder),
            present=present.commit,
            last_seen=seen,
            target=self.first.commit,
        )

    async def restore(self, plan: RestorePlan, **options: Any) -> None:
        await restore(await found(self.folder), plan, **options)

    def leftovers(self) -> list[str]:
        private = self.folder / ".git" / "trimpoint"
        return sorted(
            path.name for path in private.iterdir() if path.name in ("restore", "rescued")
        )
