"""Files that become ignored, or are no longer ignored, are not changed by a revert: nobody has
created or deleted them.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from trimpoint.git.capture.ignored import Listed, ignoring_changed
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.git.restore.taking_back import Leg, TakingBack, commit_of, take_back

from tests.git.worktrees import captured, contents, found, git, new_repository, write

ALL_OF_IT = "x.log", "data/x"


async def after(folder: Path, *steps: Callable[[], object]) -> TakingBack:
    """Returns what is taken back when the thread has made these steps, each with a capture of its
    own.
    """
    start = (await captured(folder)).commit
    legs: list[Leg] = []
    for step in steps:
        step()
        legs.append(Leg((await captured(folder)).commit, "thread"))
    return await take_back(await found(folder), start, legs)


def paths(taking: TakingBack) -> set[bytes]:
    return {step.path for step in (*taking.plan.write, *taking.plan.remove)}


def ignoring(tmp_path: Path, ignore_file: str = ".gitignore") -> Path:
    """Returns a repository in which `x.log` and `data/x` are ignored."""
    folder = new_repository(tmp_path / "tree", {"kept": "1"})
    git(folder, "branch", "--quiet", "other")
    write(folder, {ignore_file: "*.log\ndata/\n"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "ignore")
    write(folder, dict.fromkeys(ALL_OF_IT, "precious"))
    return folder


@pytest.mark.parametrize("ignore_file", [".gitignore", ".git/info/exclude", ".trimpointignore"])
async def test_files_that_a_turn_no_longer_ignores_stay(tmp_path: Path, ignore_file: str) -> None:
    folder = ignoring(tmp_path, ignore_file)
    taking = await after(folder, lambda: write(folder, {ignore_file: "", "new": "2"}))
    assert paths(taking) - {ignore_file.encode()} == {b"new"}
    assert set(taking.kept) == {b"x.log", b"data/x"}


async def test_ignored_files_that_a_turn_adds_or_checks_out_stay(tmp_path: Path) -> None:
    folder = ignoring(tmp_path)
    taking = await after(
        folder,
        lambda: git(folder, "add", "--force", "x.log"),
        lambda: git(folder, "checkout", "--quiet", "other"),
    )
    assert paths(taking) == {b".gitignore"}
    assert set(taking.kept) == {b"x.log", b"data/x"}


async def test_files_that_a_turn_ignores_are_neither_deleted_nor_written(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"kept": "1"})
    write(folder, dict.fromkeys(ALL_OF_IT, "precious"))
    before = contents(folder)
    taking = await after(folder, lambda: write(folder, {".gitignore": "*.log\ndata/\n"}))
    assert paths(taking) == {b".gitignore"}
    assert taking.plan.conflicts == ()
    repository = await found(folder)
    target = await commit_of(repository, taking)
    plan = await plan_restore(
        repository, present=taking.present, last_seen=taking.present, target=target
    )
    await restore(repository, plan)
    assert contents(folder) == before
    # The revert has made the files visible, and its undo does not delete them.
    present = (await captured(folder)).commit
    undoing = await take_back(
        repository, taking.present, [Leg(target, "thread"), Leg(present, "others")]
    )
    assert paths(undoing) == {b".gitignore"}


async def test_what_the_thread_does_to_them_later_is_taken_back(tmp_path: Path) -> None:
    folder = ignoring(tmp_path)
    taking = await after(
        folder,
        lambda: write(folder, {".gitignore": ""}),
        lambda: write(folder, {"x.log": "changed", "data/made": "new"}),
        lambda: (folder / "data" / "x").unlink(),
    )
    back = {step.path: step.target is not None for step in taking.plan.write + taking.plan.remove}
    assert back == {b".gitignore": True, b"x.log": True, b"data/x": True, b"data/made": False}


async def test_a_file_that_is_made_anew_is_the_threads(tmp_path: Path) -> None:
    folder = ignoring(tmp_path)
    taking = await after(
        folder,
        (folder / "x.log").unlink,
        lambda: write(folder, {".gitignore": "", "x.log": "of the thread"}),
    )
    assert b"x.log" in paths(taking)


async def test_a_capture_in_the_middle_of_a_turn_changes_nothing(tmp_path: Path) -> None:
    folder = ignoring(tmp_path)
    start = (await captured(folder)).commit
    write(folder, {".gitignore": ""})
    await captured(folder)
    write(folder, {"new": "2"})
    end = (await captured(folder)).commit
    taking = await take_back(await found(folder), start, [Leg(end, "thread")])
    assert paths(taking) == {b".gitignore", b"new"}


async def test_a_capture_that_was_interrupted_is_continued(tmp_path: Path) -> None:
    folder = ignoring(tmp_path)
    write(folder, {"hidden": "here"})
    start = (await captured(folder)).commit
    write(folder, {".gitignore": "hidden\n"})
    private = ShadowRepository(await found(folder), 60.0)
    await private.answer("update-index", "--add", "x.log", "data/x", doing="test")
    await private.answer("update-index", "--force-remove", "hidden", doing="test")
    end = (await captured(folder)).commit
    taking = await take_back(await found(folder), start, [Leg(end, "thread")])
    assert paths(taking) == {b".gitignore"}


def test_a_path_is_remembered_while_nothing_happens_to_it() -> None:
    earlier = {b"shown", b"hidden", b"deleted", b"gone", b"made/anew"}
    listed = Listed(
        ignored={b"hidden", b"deleted"},
        added={b"made/anew", b"made/shown"},
        deleted={b"deleted"},
    )
    now = ignoring_changed(
        listed, [b"shown", b"made/anew", b"made/shown"], before={b"made/shown"}, earlier=earlier
    )
    assert now == {b"shown", b"hidden", b"made/shown"}
