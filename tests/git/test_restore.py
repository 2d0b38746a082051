"""A restore is done completely or not at all, and never removes content that is in no
checkpoint.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trimpoint.git.errors import FilesChanged, GitFailed, RestoreFailed
from trimpoint.git.plumbing import atomic_rename, staging
from trimpoint.git.restore.plan import plan_restore

from tests.git.restoring import Scene
from tests.git.worktrees import contents, found, git, write


async def test_only_what_differs_is_written(setup: Scene) -> None:
    untouched = (setup.folder / "same").stat()
    plan = await setup.plan()
    assert [step.path for step in plan.remove] == [b"f", b"new/deep/e", b"swap"]
    assert [step.path for step in plan.write] == [
        b"a",
        b"b",
        b"folder/c",
        b"gone/deep/d",
        b"swap/x",
    ]
    assert plan.conflicts == ()
    seen: list[tuple[int, int]] = []
    await setup.restore(plan, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 8) for number in range(1, 9)]
    assert contents(setup.folder) == setup.before
    assert (setup.folder / "same").stat() == untouched
    assert not (setup.folder / "new").exists()
    assert setup.leftovers() == []


async def test_the_reversed_plan_leads_back(setup: Scene) -> None:
    plan = await setup.plan()
    await setup.restore(plan)
    await setup.restore(plan.reversed())
    assert contents(setup.folder) == setup.after


async def test_a_restore_that_is_done_already_does_nothing(setup: Scene) -> None:
    plan = await setup.plan()
    await setup.restore(plan)
    times = {
        path: path.lstat().st_ctime_ns
        for path in setup.folder.rglob("*")
        if ".git" not in path.parts
    }
    await setup.restore(plan)
    assert {
        path: path.lstat().st_ctime_ns
        for path in setup.folder.rglob("*")
        if ".git" not in path.parts
    } == times


@pytest.mark.parametrize("after", range(1, 9))
async def test_a_failure_after_any_step_takes_everything_back(setup: Scene, after: int) -> None:
    def fail(done: int, _: int) -> None:
        if done == after:
            raise KeyError(done)

    with pytest.raises(KeyError):
        await setup.restore(await setup.plan(), on_progress=fail)
    assert contents(setup.folder) == setup.after
    assert setup.leftovers() == []
    await setup.restore(await setup.plan())
    assert contents(setup.folder) == setup.before


@pytest.mark.parametrize("at", range(8))
async def test_a_refused_move_takes_everything_back_and_is_named(
    setup: Scene, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _failing_at(
        monkeypatch, atomic_rename, "_renamed", at, OSError(errno.EACCES, "Permission denied")
    )
    plan = await setup.plan()
    with pytest.raises(RestoreFailed, match="Permission denied") as caught:
        await setup.restore(plan)
    assert caught.value.path in {step.path for step in (*plan.write, *plan.remove)}
    assert caught.value.not_rolled_back == ()
    assert len(calls) >= at
    assert contents(setup.folder) == setup.after


@pytest.mark.parametrize("at", range(5))
async def test_a_full_disk_is_met_before_anything_is_touched(
    setup: Scene, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _failing_at(
        monkeypatch, staging.Staging, "write", at, OSError(errno.ENOSPC, "No space left on device")
    )
    times = {
        path: path.lstat().st_ctime_ns
        for path in setup.folder.rglob("*")
        if ".git" not in path.parts
    }
    with pytest.raises(RestoreFailed, match="No space left on device"):
        await setup.restore(await setup.plan())
    assert {
        path: path.lstat().st_ctime_ns
        for path in setup.folder.rglob("*")
        if ".git" not in path.parts
    } == times
    assert setup.leftovers() == []


async def test_content_that_git_collected_is_reported_before_any_file_changes(setup: Scene) -> None:
    plan = await setup.plan()
    blob = next(
        step.target.blob for step in plan.write if step.target and step.path == b"gone/deep/d"
    )
    (setup.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitFailed, match="is gone from the repository"):
        await setup.restore(plan)
    assert contents(setup.folder) == setup.after


@pytest.mark.parametrize("name", ["a", "folder/c", "swap", "f"])
async def test_a_file_changed_since_the_plan_is_refused_by_name(setup: Scene, name: str) -> None:
    plan = await setup.plan()
    write(setup.folder, {name: "somebody else"})
    after = contents(setup.folder)
    with pytest.raises(FilesChanged) as caught:
        await setup.restore(plan)
    assert caught.value.paths == (name.encode(),)
    assert contents(setup.folder) == after


async def test_a_file_that_appeared_since_the_plan_is_refused(setup: Scene) -> None:
    plan = await setup.plan()
    write(setup.folder, {"gone/deep/d": "somebody else"})
    with pytest.raises(FilesChanged):
        await setup.restore(plan)
    assert (setup.folder / "gone" / "deep" / "d").read_text() == "somebody else"


@pytest.mark.parametrize("atomically", [True, False])
@pytest.mark.parametrize("name", ["a", "folder/c", "f", "new/deep/e", "swap"])
async def test_a_file_changed_in_the_middle_is_kept_as_it_was_written(
    setup: Scene, name: str, atomically: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await setup.plan()
    path = setup.folder / name

    def write_beside(*_: object) -> None:
        if atomically:
            (setup.folder / ".editor").write_text("somebody else")
            (setup.folder / ".editor").rename(path)
        else:
            path.write_text("somebody else")

    _before_first(monkeypatch, atomic_rename, "_renamed", write_beside)
    with pytest.raises(FilesChanged) as caught:
        await setup.restore(plan)
    assert caught.value.paths == (name.encode(),)
    assert contents(setup.folder) == setup.after | {name.encode(): ("file", b"somebody else")}
    assert setup.leftovers() == []


async def test_an_editor_that_has_the_file_open_loses_nothing(setup: Scene) -> None:
    plan = await setup.plan()
    with (setup.folder / "a").open("a") as editor:

        def keep_writing(done: int, total: int) -> None:
            if done == total:
                editor.write(" and more")
                editor.flush()

        with pytest.raises(FilesChanged) as caught:
            await setup.restore(plan, on_progress=keep_writing)
    assert caught.value.paths == (b"a",)
    assert contents(setup.folder) == setup.after | {b"a": ("file", b"2 and more")}


async def test_a_file_that_cannot_be_put_back_is_named_and_rescued(setup: Scene) -> None:
    plan = await setup.plan()

    def interfere(done: int, total: int) -> None:
        if done == total:
            write(setup.folder, {"a": "after", "f": "after"})
            raise_later(done)

    def raise_later(_: int) -> None:
        raise FilesChanged([b"other"])

    with pytest.raises(FilesChanged) as caught:
        await setup.restore(plan, on_progress=interfere)
    assert set(caught.value.not_rolled_back) == {b"a", b"f"}
    assert "Could not be put back as they were" in str(caught.value)
    assert contents(setup.folder) == setup.after | dict.fromkeys((b"a", b"f"), ("file", b"after"))


async def test_without_the_kernels_exchange_it_works_too(
    setup: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_rename, "_renamed", lambda *_: False)
    plan = await setup.plan()
    await setup.restore(plan)
    assert contents(setup.folder) == setup.before
    await setup.restore(plan.reversed())
    assert contents(setup.folder) == setup.after


async def test_without_links_either_it_works_too(
    setup: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(atomic_rename, "_renamed", lambda *_: False)
    monkeypatch.setattr(os, "link", refuse)
    plan = await setup.plan()
    await setup.restore(plan)
    assert contents(setup.folder) == setup.before


async def test_on_another_file_system_than_the_git_directory(
    setup: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging.Staging, "is_home", lambda *_: False)
    plan = await setup.plan()
    await setup.restore(plan)
    assert contents(setup.folder) == setup.before
    await setup.restore(plan.reversed())
    assert contents(setup.folder) == setup.after


async def test_a_parent_that_became_a_link_is_not_followed(setup: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"c": "22", "d": "x"})
    plan = await setup.plan()
    (setup.folder / "folder" / "c").unlink()
    (setup.folder / "folder").rmdir()
    (setup.folder / "folder").symlink_to(outside)
    with pytest.raises(FilesChanged):
        await setup.restore(plan)
    assert contents(outside) == {b"c": ("file", b"22"), b"d": ("file", b"x")}


async def test_a_folder_that_is_asked_to_stay_stays(setup: Scene) -> None:
    await setup.restore(await setup.plan(), keep_folder=b"new/deep")
    assert (setup.folder / "new" / "deep").is_dir()
    assert contents(setup.folder) == setup.before


async def test_folders_with_something_else_in_them_stay(setup: Scene) -> None:
    write(setup.folder, {".git/info/exclude": "*.ignored\n", "new/deep/x.ignored": "keep"})
    await setup.restore(await setup.plan())
    assert (setup.folder / "new" / "deep" / "x.ignored").read_text() == "keep"


# --- what speaks against it


async def test_a_plan_without_its_checkpoint_is_refused(setup: Scene) -> None:
    commit = git(setup.folder, "rev-parse", "HEAD").decode().strip()
    with pytest.raises(GitFailed, match="there is no checkpoint"):
        await plan_restore(
            await found(setup.folder),
            present=setup.second.commit,
            last_seen=setup.second.commit,
            target=commit,
        )


def _failing_at(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, at: int, error: OSError
) -> list[int]:
    """Makes the call with number `at` fail, counted from 0."""
    real: Callable[..., Any] = getattr(owner, name)
    calls: list[int] = []

    def failing(*arguments: Any) -> Any:
        calls.append(len(calls))
        if len(calls) == at + 1:
            raise error
        return real(*arguments)

    monkeypatch.setattr(owner, name, failing)
    return calls


def _before_first(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], None]
) -> None:
    real: Callable[..., Any] = getattr(owner, name)
    acted: list[bool] = []

    def acting(*arguments: Any) -> Any:
        if not acted:
            acted.append(True)
            act()
        return real(*arguments)

    monkeypatch.setattr(owner, name, acting)
