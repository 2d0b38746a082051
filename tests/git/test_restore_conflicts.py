"""What a restore does not overwrite: content that is in no checkpoint, and changes by others."""

import contextlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from trimpoint.git.restore.plan import Conflict, plan_restore
from trimpoint.git.restore.restore import restore

from tests.deadlines import STEP_S
from tests.git.restoring import Scene
from tests.git.worktrees import captured, contents, found, git, write


async def test_files_in_no_checkpoint_of_the_thread_are_kept(setup: Scene) -> None:
    write(setup.folder, {"notes.txt": "mine", "new/deep/mine": "mine"})
    plan = await setup.plan()
    assert plan.kept_unknown == (b"new/deep/mine", b"notes.txt")
    assert plan.conflicts == ()
    await setup.restore(plan)
    assert contents(setup.folder) == setup.before | dict.fromkeys(
        plan.kept_unknown, ("file", b"mine")
    )


async def test_a_change_by_others_meanwhile_is_a_conflict_that_force_overrules(
    setup: Scene,
) -> None:
    write(setup.folder, {"a": "somebody else", "same": "not to be touched? it is"})
    (setup.folder / "f").unlink()
    plan = await setup.plan()
    assert plan.conflicts == tuple(Conflict(path, "changed", path) for path in (b"a", b"same"))
    await setup.restore(plan.forced())
    assert contents(setup.folder) == setup.before


@pytest.mark.linux("looks at other processes")
async def test_a_file_open_for_writing_is_a_conflict(setup: Scene, tmp_path: Path) -> None:
    script = (
        "import sys; f = open(sys.argv[1], 'a'); g = open(sys.argv[2]); print(flush=True); input()"
    )
    async with _process(script, str(setup.folder / "a"), str(setup.folder / "folder" / "c")):
        plan = await setup.plan()
    assert plan.conflicts == (Conflict(b"a", "open", b"a"),)
    assert (await setup.plan()).conflicts == ()


async def test_an_ignored_file_in_the_way_is_not_overwritten_even_by_force(setup: Scene) -> None:
    write(setup.folder, {".git/info/exclude": "/gone/\n", "gone/deep/d": "ignored now"})
    git(setup.folder, "rm", "--quiet", "--cached", "gone/deep/d")
    plan = await setup.plan()
    assert plan.conflicts == (Conflict(b"gone/deep/d", "inTheWay", b"gone/deep/d"),)
    await setup.restore(plan.forced())
    assert (setup.folder / "gone" / "deep" / "d").read_text() == "ignored now"
    assert (setup.folder / "a").read_text() == "1"


async def test_an_ignored_file_that_is_what_is_wanted_is_no_conflict(setup: Scene) -> None:
    write(setup.folder, {".git/info/exclude": "/gone/\n", "gone/deep/d": "1"})
    git(setup.folder, "rm", "--quiet", "--cached", "gone/deep/d")
    plan = await setup.plan()
    assert plan.conflicts == ()
    await setup.restore(plan)
    assert contents(setup.folder) == setup.before


async def test_an_ignored_file_where_a_folder_must_go_is_a_conflict(setup: Scene) -> None:
    write(setup.folder, {".git/info/exclude": "/gone\n", "gone": "a file"})
    assert (await setup.plan()).conflicts == (Conflict(b"gone", "inTheWay", b"gone/deep/d"),)


async def test_an_ignored_file_in_a_folder_where_a_file_must_go_is_a_conflict(
    tmp_path: Path,
) -> None:
    setup = Scene(tmp_path / "tree")
    first = await captured(setup.folder)
    (setup.folder / "a").unlink()
    write(setup.folder, {"a/x": "1", "a/y.ignored": "mine", ".git/info/exclude": "*.ignored\n"})
    present = await captured(setup.folder)
    plan = await plan_restore(
        await found(setup.folder),
        present=present.commit,
        last_seen=present.commit,
        target=first.commit,
    )
    assert plan.conflicts == (Conflict(b"a/y.ignored", "inTheWay", b"a"),)
    (setup.folder / "a" / "y.ignored").unlink()
    (setup.folder / "a" / "empty" / "folders").mkdir(parents=True)
    plan = await plan_restore(
        await found(setup.folder),
        present=present.commit,
        last_seen=present.commit,
        target=first.commit,
    )
    assert plan.conflicts == ()
    await restore(await found(setup.folder), plan)
    assert (setup.folder / "a").read_text() == "1"


@contextlib.asynccontextmanager
async def _process(script: str, *arguments: str) -> AsyncGenerator[None]:
    """Yields another process, which has printed a line and waits."""
    async with await anyio.open_process([sys.executable, "-c", script, *arguments]) as process:
        assert process.stdout is not None
        with anyio.fail_after(STEP_S):
            await process.stdout.receive()
        try:
            yield
        finally:
            process.kill()
