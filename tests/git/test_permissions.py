"""Permissions of files, which git does not store, are restored."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import message_of
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.git.restore.taking_back import Author, Leg, TakingBack, commit_of, take_back

from tests.git.worktrees import captured, found, git, new_repository, users_side, write

_FILES: dict[str, str | bytes] = {"secret": "s", "group": "g", "frozen": "f", "run": "r", "a": "1"}
_MODES = {"secret": 0o600, "group": 0o640, "frozen": 0o444, "run": 0o750, "a": 0o644}


def _modes(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mode & 0o7777 for name in _MODES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "tree", _FILES)
    for name, mode in _MODES.items():
        (folder / name).chmod(mode)
    return folder


async def _taken_back(
    folder: Path, start: Checkpoint, *legs: tuple[Checkpoint, Author]
) -> TakingBack:
    repository = await found(folder)
    return await take_back(
        repository, start.commit, [Leg(checkpoint.commit, author) for checkpoint, author in legs]
    )


async def _revert(folder: Path, start: Checkpoint) -> None:
    repository = await found(folder)
    present = await captured(folder)
    taking = await _taken_back(folder, start, (present, "thread"))
    assert taking.plan.conflicts == ()
    target = await commit_of(repository, taking)
    plan = await plan_restore(
        repository, present=present.commit, last_seen=present.commit, target=target
    )
    assert [*plan.write, *plan.remove] == [*taking.plan.write, *taking.plan.remove]
    await restore(repository, plan)


def _rewrite(folder: Path) -> None:
    for name in _MODES:
        (folder / name).unlink()
        (folder / name).write_text("changed")
        (folder / name).chmod(0o644)


def _delete(folder: Path) -> None:
    for name in _MODES:
        (folder / name).unlink()


def _open_up(folder: Path) -> None:
    for name in _MODES:
        (folder / name).chmod(0o777)


def _make_links(folder: Path) -> None:
    for name in _MODES:
        (folder / name).unlink()
        (folder / name).symlink_to("nowhere")


@pytest.mark.parametrize("edit", [_rewrite, _delete, _open_up, _make_links])
async def test_permissions_come_back_exactly_there_and_back(
    folder: Path, edit: Callable[[Path], None]
) -> None:
    first = await captured(folder)
    edit(folder)
    second, after = await captured(folder), {n: os.lstat(folder / n) for n in os.listdir(folder)}
    before = users_side(folder)
    await _revert(folder, first)
    assert _modes(folder) == _MODES
    assert {name: (folder / name).read_text() for name in _FILES} == _FILES
    assert (await captured(folder)).permissions == first.permissions
    await _revert(folder, second)
    assert {n: os.lstat(folder / n).st_mode for n in os.listdir(folder)} == {
        name: facts.st_mode for name, facts in after.items()
    }
    assert users_side(folder) == before


async def test_permissions_come_back_whatever_the_umask_is(folder: Path) -> None:
    first = await captured(folder)
    _delete(folder)
    before = os.umask(0o077)
    try:
        await _revert(folder, first)
    finally:
        os.umask(before)
    assert _modes(folder) == _MODES


async def test_a_file_with_the_same_content_is_written_when_its_permissions_alone_differ(
    folder: Path,
) -> None:
    first = await captured(folder)
    (folder / "secret").chmod(0o644)
    taking = await _taken_back(folder, first, (await captured(folder), "thread"))
    assert [step.path for step in taking.plan.write] == [b"secret"]
    assert taking.plan.remove == ()


async def test_permissions_that_others_changed_stay(folder: Path) -> None:
    first = await captured(folder)
    write(folder, {"a": "2"})
    second = await captured(folder)
    (folder / "secret").chmod(0o400)
    taking = await _taken_back(
        folder, first, (second, "thread"), (await captured(folder), "others")
    )
    assert [step.path for step in taking.plan.write] == [b"a"]
    assert taking.kept == (b"secret",)


async def test_permissions_that_others_changed_after_the_thread_are_a_conflict(
    folder: Path,
) -> None:
    first = await captured(folder)
    write(folder, {"secret": "2"})
    second = await captured(folder)
    (folder / "secret").chmod(0o400)
    taking = await _taken_back(
        folder, first, (second, "thread"), (await captured(folder), "others")
    )
    assert [(one.path, one.reason) for one in taking.plan.conflicts] == [(b"secret", "changed")]


async def test_a_message_names_only_files_that_differ_from_most(folder: Path) -> None:
    for name in _MODES:
        (folder / name).chmod(0o600)
    (folder / "a").chmod(0o640)
    permissions = (await captured(folder)).permissions
    assert permissions is not None
    assert (permissions.regular, permissions.named) == (0o600, {b"a": 0o640})


async def test_set_user_id_is_neither_given_nor_taken(folder: Path) -> None:
    (folder / "run").chmod(0o4750)
    first = await captured(folder)
    write(folder, {"run": "changed"})
    (folder / "run").chmod(0o4755)
    (folder / "a").unlink()
    await _revert(folder, first)
    assert (folder / "run").stat().st_mode & 0o7777 == 0o4750
    (folder / "run").unlink()
    await _revert(folder, first)
    assert (folder / "run").stat().st_mode & 0o7777 == 0o750


async def _without_permissions(folder: Path) -> Checkpoint:
    """Makes a checkpoint as earlier versions did."""
    checkpoint = await captured(folder)
    private = ShadowRepository(await found(folder), 60.0)
    commit = await private.commit_tree(checkpoint.tree, message_of(checkpoint.left_out))
    return Checkpoint(commit.id, commit.tree, checkpoint.left_out)


async def test_a_checkpoint_of_an_earlier_version_restores_contents_and_keeps_permissions(
    folder: Path,
) -> None:
    first = await _without_permissions(folder)
    write(folder, {"secret": "2", "group": "2"})
    (folder / "frozen").unlink()
    (folder / "run").chmod(0o700)
    taking = await _taken_back(folder, first, (await captured(folder), "thread"))
    assert {step.path for step in taking.plan.write} == {b"secret", b"group", b"frozen"}
    await _revert(folder, first)
    assert {name: (folder / name).read_text() for name in _FILES} == _FILES
    assert (folder / "secret").stat().st_mode & 0o7777 == 0o600
    assert (folder / "run").stat().st_mode & 0o7777 == 0o700


async def test_git_status_of_the_user_is_not_touched_by_permissions(folder: Path) -> None:
    before = git(folder, "status", "--porcelain")
    first = await captured(folder)
    _open_up(folder)
    await _revert(folder, first)
    assert git(folder, "status", "--porcelain") == before
