"""A restore does all of it or nothing, and never costs anybody what is in no checkpoint."""

import contextlib
import errno
import os
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.errors import FilesChanged, GitFailed, RestoreFailed
from trimpoint.git.plumbing import atomic_rename, staging
from trimpoint.git.restore.plan import Conflict, RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import captured, contents, found, git, new_repository, write

_BEFORE: dict[str, str | bytes] = {"a": "1", "b": "1", "folder/c": "1", "swap/x": "1", "gone/deep/d": "1", "same": "0"}


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


class _Scene:
    """A work tree that was captured, edited and captured again."""

    def __init__(self, folder: Path) -> None:
        self.folder = new_repository(folder, _BEFORE)
        self.first: Checkpoint
        self.second: Checkpoint

    async def played(self) -> "_Scene":
        self.first, self.before = await captured(self.folder), contents(self.folder)
        _edit(self.folder)
        self.second, self.after = await captured(self.folder), contents(self.folder)
        return self

    async def plan(self, *, last_seen: Checkpoint | None = None) -> RestorePlan:
        """Back to the first, from what is there now."""
        present = await captured(self.folder)
        seen = (last_seen or self.second).commit
        return await plan_restore(await found(self.folder), present=present.commit, last_seen=seen, target=self.first.commit)

    async def restore(self, plan: RestorePlan, **options: Any) -> None:
        await restore(await found(self.folder), plan, **options)

    def leftovers(self) -> list[str]:
        private = self.folder / ".git" / "trimpoint"
        return sorted(path.name for path in private.iterdir() if path.name in ("restore", "rescued"))


@pytest.fixture
async def scene(tmp_path: Path) -> _Scene:
    return await _Scene(tmp_path / "tree").played()


async def test_only_what_differs_is_written(scene: _Scene) -> None:
    untouched = (scene.folder / "same").stat()
    plan = await scene.plan()
    assert [step.path for step in plan.remove] == [b"f", b"new/deep/e", b"swap"]
    assert [step.path for step in plan.write] == [b"a", b"b", b"folder/c", b"gone/deep/d", b"swap/x"]
    assert plan.conflicts == ()
    seen: list[tuple[int, int]] = []
    await scene.restore(plan, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 8) for number in range(1, 9)]
    assert contents(scene.folder) == scene.before
    assert (scene.folder / "same").stat() == untouched
    assert not (scene.folder / "new").exists()
    assert scene.leftovers() == []


async def test_the_reversed_plan_leads_back(scene: _Scene) -> None:
    plan = await scene.plan()
    await scene.restore(plan)
    await scene.restore(plan.reversed())
    assert contents(scene.folder) == scene.after


async def test_a_restore_that_is_done_already_does_nothing(scene: _Scene) -> None:
    plan = await scene.plan()
    await scene.restore(plan)
    times = {path: path.lstat().st_ctime_ns for path in scene.folder.rglob("*") if ".git" not in path.parts}
    await scene.restore(plan)
    assert {path: path.lstat().st_ctime_ns for path in scene.folder.rglob("*") if ".git" not in path.parts} == times


@pytest.mark.parametrize("after", range(1, 9))
async def test_a_failure_after_any_step_takes_everything_back(scene: _Scene, after: int) -> None:
    def fail(done: int, _: int) -> None:
        if done == after:
            raise KeyError(done)

    with pytest.raises(KeyError):
        await scene.restore(await scene.plan(), on_progress=fail)
    assert contents(scene.folder) == scene.after
    assert scene.leftovers() == []
    await scene.restore(await scene.plan())
    assert contents(scene.folder) == scene.before


@pytest.mark.parametrize("at", range(8))
async def test_a_refused_move_takes_everything_back_and_is_named(scene: _Scene, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _failing_at(monkeypatch, atomic_rename, "_renamed", at, OSError(errno.EACCES, "Permission denied"))
    plan = await scene.plan()
    with pytest.raises(RestoreFailed, match="Permission denied") as caught:
        await scene.restore(plan)
    assert caught.value.path in {step.path for step in (*plan.write, *plan.remove)}
    assert caught.value.not_taken_back == ()
    assert len(calls) >= at
    assert contents(scene.folder) == scene.after


@pytest.mark.parametrize("at", range(5))
async def test_a_full_disk_is_met_before_anything_is_touched(scene: _Scene, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _failing_at(monkeypatch, staging.Staging, "write", at, OSError(errno.ENOSPC, "No space left on device"))
    times = {path: path.lstat().st_ctime_ns for path in scene.folder.rglob("*") if ".git" not in path.parts}
    with pytest.raises(RestoreFailed, match="No space left on device"):
        await scene.restore(await scene.plan())
    assert {path: path.lstat().st_ctime_ns for path in scene.folder.rglob("*") if ".git" not in path.parts} == times
    assert scene.leftovers() == []


async def test_content_that_was_collected_is_said_before_anything_is_touched(scene: _Scene) -> None:
    plan = await scene.plan()
    blob = next(step.target.blob for step in plan.write if step.target and step.path == b"gone/deep/d")
    (scene.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitFailed, match="is gone from the repository"):
        await scene.restore(plan)
    assert contents(scene.folder) == scene.after


@pytest.mark.parametrize("name", ["a", "folder/c", "swap", "f"])
async def test_a_file_changed_since_the_plan_is_refused_by_name(scene: _Scene, name: str) -> None:
    plan = await scene.plan()
    write(scene.folder, {name: "somebody else"})
    after = contents(scene.folder)
    with pytest.raises(FilesChanged) as caught:
        await scene.restore(plan)
    assert caught.value.paths == (name.encode(),)
    assert contents(scene.folder) == after


async def test_a_file_that_appeared_since_the_plan_is_refused(scene: _Scene) -> None:
    plan = await scene.plan()
    write(scene.folder, {"gone/deep/d": "somebody else"})
    with pytest.raises(FilesChanged):
        await scene.restore(plan)
    assert (scene.folder / "gone" / "deep" / "d").read_text() == "somebody else"


@pytest.mark.parametrize("atomically", [True, False])
@pytest.mark.parametrize("name", ["a", "folder/c", "f", "new/deep/e", "swap"])
async def test_a_file_changed_in_the_middle_is_kept_as_it_was_written(
    scene: _Scene, name: str, atomically: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await scene.plan()
    path = scene.folder / name

    def write_beside(*_: object) -> None:
        if atomically:
            (scene.folder / ".editor").write_text("somebody else")
            (scene.folder / ".editor").rename(path)
        else:
            path.write_text("somebody else")

    _before_first(monkeypatch, atomic_rename, "_renamed", write_beside)
    with pytest.raises(FilesChanged) as caught:
        await scene.restore(plan)
    assert caught.value.paths == (name.encode(),)
    assert contents(scene.folder) == scene.after | {name.encode(): ("file", b"somebody else")}
    assert scene.leftovers() == []


async def test_an_editor_that_has_the_file_open_loses_nothing(scene: _Scene) -> None:
    plan = await scene.plan()
    with (scene.folder / "a").open("a") as editor:

        def keep_writing(done: int, total: int) -> None:
            if done == total:
                editor.write(" and more")
                editor.flush()

        with pytest.raises(FilesChanged) as caught:
            await scene.restore(plan, on_progress=keep_writing)
    assert caught.value.paths == (b"a",)
    assert contents(scene.folder) == scene.after | {b"a": ("file", b"2 and more")}


async def test_what_cannot_be_put_back_is_named_and_rescued(scene: _Scene) -> None:
    plan = await scene.plan()

    def interfere(done: int, total: int) -> None:
        if done == total:
            write(scene.folder, {"a": "after", "f": "after"})
            raise_later(done)

    def raise_later(_: int) -> None:
        raise FilesChanged([b"other"])

    with pytest.raises(FilesChanged) as caught:
        await scene.restore(plan, on_progress=interfere)
    assert set(caught.value.not_taken_back) == {b"a", b"f"}
    assert "Could not be put back as they were" in str(caught.value)
    assert contents(scene.folder) == scene.after | dict.fromkeys((b"a", b"f"), ("file", b"after"))


async def test_without_the_kernels_exchange_it_works_too(scene: _Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_rename, "_renamed", lambda *_: False)
    plan = await scene.plan()
    await scene.restore(plan)
    assert contents(scene.folder) == scene.before
    await scene.restore(plan.reversed())
    assert contents(scene.folder) == scene.after


async def test_without_links_either_it_works_too(scene: _Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(atomic_rename, "_renamed", lambda *_: False)
    monkeypatch.setattr(os, "link", refuse)
    plan = await scene.plan()
    await scene.restore(plan)
    assert contents(scene.folder) == scene.before


async def test_on_another_file_system_than_the_git_directory(scene: _Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging.Staging, "is_home", lambda *_: False)
    plan = await scene.plan()
    await scene.restore(plan)
    assert contents(scene.folder) == scene.before
    await scene.restore(plan.reversed())
    assert contents(scene.folder) == scene.after


async def test_a_parent_that_became_a_link_is_not_followed(scene: _Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"c": "22", "d": "x"})
    plan = await scene.plan()
    (scene.folder / "folder" / "c").unlink()
    (scene.folder / "folder").rmdir()
    (scene.folder / "folder").symlink_to(outside)
    with pytest.raises(FilesChanged):
        await scene.restore(plan)
    assert contents(outside) == {b"c": ("file", b"22"), b"d": ("file", b"x")}


async def test_permissions_that_git_does_not_know_are_kept(scene: _Scene) -> None:
    (scene.folder / "a").chmod(0o640)
    await scene.restore(await scene.plan())
    assert (scene.folder / "a").stat().st_mode & 0o7777 == 0o640


async def test_a_folder_that_is_asked_to_stay_stays(scene: _Scene) -> None:
    await scene.restore(await scene.plan(), keep_folder=b"new/deep")
    assert (scene.folder / "new" / "deep").is_dir()
    assert contents(scene.folder) == scene.before


async def test_folders_with_something_else_in_them_stay(scene: _Scene) -> None:
    write(scene.folder, {".git/info/exclude": "*.ignored\n", "new/deep/x.ignored": "keep"})
    await scene.restore(await scene.plan())
    assert (scene.folder / "new" / "deep" / "x.ignored").read_text() == "keep"


# --- what speaks against it


async def test_what_no_checkpoint_of_the_thread_has_seen_stays(scene: _Scene) -> None:
    write(scene.folder, {"notes.txt": "mine", "new/deep/mine": "mine"})
    plan = await scene.plan()
    assert plan.kept_unknown == (b"new/deep/mine", b"notes.txt")
    assert plan.conflicts == ()
    await scene.restore(plan)
    assert contents(scene.folder) == scene.before | dict.fromkeys(plan.kept_unknown, ("file", b"mine"))


async def test_what_somebody_else_changed_meanwhile_is_a_conflict_that_force_overrules(scene: _Scene) -> None:
    write(scene.folder, {"a": "somebody else", "same": "not to be touched? it is"})
    (scene.folder / "f").unlink()
    plan = await scene.plan()
    assert plan.conflicts == tuple(Conflict(path, "changed", path) for path in (b"a", b"same"))
    await scene.restore(plan.forced())
    assert contents(scene.folder) == scene.before


async def test_a_file_open_for_writing_is_a_conflict(scene: _Scene, tmp_path: Path) -> None:
    script = "import sys; f = open(sys.argv[1], 'a'); g = open(sys.argv[2]); print(flush=True); input()"
    async with _process(script, str(scene.folder / "a"), str(scene.folder / "folder" / "c")):
        plan = await scene.plan()
    assert plan.conflicts == (Conflict(b"a", "open", b"a"),)
    assert (await scene.plan()).conflicts == ()


async def test_an_ignored_file_in_the_way_is_not_overwritten_even_by_force(scene: _Scene) -> None:
    write(scene.folder, {".git/info/exclude": "/gone/\n", "gone/deep/d": "ignored now"})
    git(scene.folder, "rm", "--quiet", "--cached", "gone/deep/d")
    plan = await scene.plan()
    assert plan.conflicts == (Conflict(b"gone/deep/d", "inTheWay", b"gone/deep/d"),)
    await scene.restore(plan.forced())
    assert (scene.folder / "gone" / "deep" / "d").read_text() == "ignored now"
    assert (scene.folder / "a").read_text() == "1"


async def test_an_ignored_file_that_is_what_is_wanted_is_no_conflict(scene: _Scene) -> None:
    write(scene.folder, {".git/info/exclude": "/gone/\n", "gone/deep/d": "1"})
    git(scene.folder, "rm", "--quiet", "--cached", "gone/deep/d")
    plan = await scene.plan()
    assert plan.conflicts == ()
    await scene.restore(plan)
    assert contents(scene.folder) == scene.before


async def test_an_ignored_file_where_a_folder_must_go_is_a_conflict(scene: _Scene) -> None:
    write(scene.folder, {".git/info/exclude": "/gone\n", "gone": "a file"})
    assert (await scene.plan()).conflicts == (Conflict(b"gone", "inTheWay", b"gone/deep/d"),)


async def test_an_ignored_file_in_a_folder_where_a_file_must_go_is_a_conflict(tmp_path: Path) -> None:
    scene = _Scene(tmp_path / "tree")
    first = await captured(scene.folder)
    (scene.folder / "a").unlink()
    write(scene.folder, {"a/x": "1", "a/y.ignored": "mine", ".git/info/exclude": "*.ignored\n"})
    present = await captured(scene.folder)
    plan = await plan_restore(await found(scene.folder), present=present.commit, last_seen=present.commit, target=first.commit)
    assert plan.conflicts == (Conflict(b"a/y.ignored", "inTheWay", b"a"),)
    (scene.folder / "a" / "y.ignored").unlink()
    (scene.folder / "a" / "empty" / "folders").mkdir(parents=True)
    plan = await plan_restore(await found(scene.folder), present=present.commit, last_seen=present.commit, target=first.commit)
    assert plan.conflicts == ()
    await restore(await found(scene.folder), plan)
    assert (scene.folder / "a").read_text() == "1"


async def test_a_plan_without_its_checkpoint_is_refused(scene: _Scene) -> None:
    commit = git(scene.folder, "rev-parse", "HEAD").decode().strip()
    with pytest.raises(GitFailed, match="there is no checkpoint"):
        await plan_restore(await found(scene.folder), present=scene.second.commit, last_seen=scene.second.commit, target=commit)


@contextlib.asynccontextmanager
async def _process(script: str, *arguments: str) -> AsyncGenerator[None]:
    """Another process, which has printed a line and waits."""
    async with await anyio.open_process([sys.executable, "-c", script, *arguments]) as process:
        assert process.stdout is not None
        with anyio.fail_after(20):
            await process.stdout.receive()
        try:
            yield
        finally:
            process.kill()


def _failing_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, at: int, error: OSError) -> list[int]:
    """Let the call with number `at` fail, from 0."""
    real: Callable[..., Any] = getattr(owner, name)
    calls: list[int] = []

    def failing(*arguments: Any) -> Any:
        calls.append(len(calls))
        if len(calls) == at + 1:
            raise error
        return real(*arguments)

    monkeypatch.setattr(owner, name, failing)
    return calls


def _before_first(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], None]) -> None:
    real: Callable[..., Any] = getattr(owner, name)
    acted: list[bool] = []

    def acting(*arguments: Any) -> Any:
        if not acted:
            acted.append(True)
            act()
        return real(*arguments)

    monkeypatch.setattr(owner, name, acting)
