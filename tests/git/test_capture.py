"""Captures change nothing of the person's, and their cost depends on the number of changes."""

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint
from trimpoint.config.sections import CheckpointsSection
from trimpoint.git.capture import capture as capturing
from trimpoint.git.capture.capture import capture
from trimpoint.git.capture.refs import checkpoint_ref, keep
from trimpoint.git.capture.upkeep import collect
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing import initial_index, process
from trimpoint.git.plumbing.locks import worktree_lock
from trimpoint.git.plumbing.process import GitOutput, GitRun, run_git
from trimpoint.git.plumbing.store import newest_ref

from tests.deadlines import SCENARIO_S, STEP_S
from tests.git.worktrees import captured, found, git, kept, new_repository, users_side, write


async def test_hooks_monitors_reflogs_and_signing_are_not_touched(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    asked = tmp_path / "asked"
    for hook in (
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "fsmonitor",
    ):
        path = folder / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {asked}\n")
        path.chmod(0o755)
    for setting in (
        "core.fsmonitor=.git/hooks/fsmonitor",
        "core.logAllRefUpdates=always",
        "commit.gpgSign=true",
    ):
        git(folder, "config", *setting.split("=", 1))
    asked.unlink(missing_ok=True)
    write(folder, {"a": "y", "b": "z"})
    before = _without_status(users_side(folder))
    asked.unlink(missing_ok=True)
    repository = await found(folder)
    made = await capture(repository)
    await keep(repository, checkpoint_ref("thread", "turn"), made.commit)
    assert not asked.exists()
    assert _without_status(users_side(folder)) == before
    assert not (folder / ".git" / "logs" / "refs" / "trimpoint").exists()


async def test_variables_that_leaked_in_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    other = new_repository(tmp_path / "other", {"a": "x"})
    before, others = users_side(folder), users_side(other)
    expected = (await captured(folder)).tree
    write(folder, {"b": "y"})
    leaked = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_AUTHOR_DATE": "nonsense",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_LITERAL_PATHSPECS": "nonsense",
    }
    with monkeypatch.context() as leak:
        for name, value in leaked.items():
            leak.setenv(name, value)
        made = await captured(folder)
        repository = await found(folder)
        await keep(repository, checkpoint_ref("thread", "turn"), made.commit)
    assert kept(folder, "ls-tree", "--name-only", made.commit) == b"a\nb\n"
    assert kept(folder, "ls-tree", expected) == kept(folder, "ls-tree", f"{made.commit}", "--", "a")
    assert users_side(other) == others
    assert before.keys() == users_side(folder).keys()
    assert not (tmp_path / "trace").exists()


async def test_an_unchanged_work_tree_gives_the_same_commit(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", ".gitignore": "*.log\n"})
    first = await captured(folder)
    write(folder, {"x.log": "ignored"})
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "elsewhere")
    assert await captured(folder) == first
    write(folder, {"large": "l" * 100})
    second = await captured(folder, max_file_bytes=50)
    assert await captured(folder, max_file_bytes=50) == second


async def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_repository(tmp_path / "tree", {f"file{number}": "x" for number in range(50)})
    await captured(folder)
    write(folder, {"file7": "yy", "new": "z"})
    fed = _watched(monkeypatch)
    await captured(folder)
    updates = [run.stdin for run in fed if "update-index" in run.arguments]
    assert updates == [b"file7\0new\0"]


async def test_a_file_that_was_changed_in_the_very_tick_of_a_capture_is_not_missed(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    for number in range(20):
        write(folder, {"a": str(number % 10)})
        made = await captured(folder)
        assert kept(folder, "cat-file", "blob", f"{made.commit}:a") == str(number % 10).encode()


async def test_a_private_index_that_was_lost_or_damaged_is_made_anew(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    index = folder / ".git" / "trimpoint" / "index"
    for damage in (b"", b"DIRC nonsense", index.read_bytes()[:-30]):
        index.write_bytes(damage)
        assert (await captured(folder)).tree == first.tree
    index.unlink()
    assert (await captured(folder)).tree == first.tree


DAMAGED = (b"", bytes(41), b"\xff\xfenonsense\n", b"0" * 20)


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("file", ["HEAD", "config", "info/exclude", "info/attributes", "ignored"])
async def test_a_file_of_ours_that_a_power_failure_damaged_does_not_stop_us(
    tmp_path: Path, file: str, damage: bytes
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    (folder / ".git" / "trimpoint" / file).write_bytes(damage)
    assert (await captured(folder)).tree == first.tree


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("file", ["HEAD", "config"])
async def test_a_file_of_the_store_that_a_power_failure_damaged_does_not_stop_us(
    tmp_path: Path, file: str, damage: bytes
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    repository = await found(folder)
    (repository.store_dir / file).write_bytes(damage)
    assert (await captured(folder)).tree == first.tree
    await collect(repository)


@pytest.mark.parametrize("damage", DAMAGED)
async def test_a_damaged_ref_of_a_worktree_is_set_again_by_its_next_capture(
    tmp_path: Path, damage: bytes
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    repository = await found(folder)
    (repository.store_dir / newest_ref(repository.common_dir, repository.git_dir)).write_bytes(
        damage
    )
    assert (await captured(folder)).tree == first.tree
    await collect(repository)


async def test_objects_that_were_collected_are_written_again(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"untracked": "precious"})
    await captured(folder)
    git(folder, "gc", "--quiet", "--prune=now")
    made = await captured(folder)
    assert kept(folder, "cat-file", "blob", f"{made.commit}:untracked") == b"precious"


async def test_a_lock_that_a_killed_git_left_does_not_stop_us(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    await captured(folder)
    (folder / ".git" / "trimpoint" / "index.lock").touch()
    write(folder, {"a": "y"})
    assert (await captured(folder)).left_out == ()


async def test_the_persons_lock_is_neither_needed_nor_removed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    (folder / ".git" / "index.lock").touch()
    write(folder, {"a": "y"})
    await captured(folder)
    assert (folder / ".git" / "index.lock").exists()


async def test_captures_of_one_work_tree_wait_for_one_another(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository = await found(folder)
    commits: list[str] = []

    async def once() -> None:
        commits.append((await capture(repository)).commit)

    with anyio.fail_after(SCENARIO_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(once)
    assert len(set(commits)) == 1


async def test_waiting_too_long_for_another_daemon_raises_an_error(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository = await found(folder)
    lock = repository.private_dir / "lock"
    lock.parent.mkdir()
    script = "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    async with await anyio.open_process([sys.executable, "-c", script, str(lock)]) as holder:
        assert holder.stdout is not None
        await holder.stdout.receive()
        with pytest.raises(
            GitFailed, match=r"another process has held this work tree for 0\.2 seconds"
        ):
            await capture(repository, CheckpointsSection(deadline_s=0.2))
        holder.kill()
    await capture(repository)


async def test_waiting_too_long_for_another_task_raises_an_error(tmp_path: Path) -> None:
    repository = await found(new_repository(tmp_path / "tree", {"a": "x"}))

    async def hold(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with worktree_lock(repository, 5):
            task_status.started()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        await tasks.start(hold)
        with pytest.raises(GitFailed, match="another process"):
            await capture(repository, CheckpointsSection(deadline_s=0.1))
        tasks.cancel_scope.cancel()


async def test_a_cancelled_capture_leaves_no_process_and_the_next_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    script = tmp_path / "slow"
    script.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 600 &\necho $! >> {tmp_path}/pid\nwait\n"
    )
    script.chmod(0o755)
    repository = await found(folder)
    real = capturing.gather

    async def slow(runs: Sequence[GitRun]) -> list[GitOutput]:
        await run_git(GitRun(git=script, arguments=(), doing="be slow", cwd=folder))
        return await real(runs)

    with monkeypatch.context() as slowed:
        slowed.setattr(capturing, "gather", slow)
        with pytest.raises(GitFailed, match="it took longer than 2 seconds"):
            await capture(repository, CheckpointsSection(deadline_s=2))
    with anyio.fail_after(STEP_S):
        while any(_runs(pid) for pid in (tmp_path / "pid").read_text().split()):
            await checkpoint()
    await capture(repository)


async def test_a_missing_work_tree_is_reported(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository = await found(folder)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(GitFailed) as caught:
        await capture(repository)
    assert "No such file or directory" in str(caught.value)


async def test_a_file_that_will_not_be_read_is_left_out_after_another_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    await captured(folder)
    write(folder, {"a": "y", "odd\nname": "z", "b": "w"})
    real, refused = process.run_git, b"odd\nname"

    async def refusing(run: GitRun) -> GitOutput:
        if "update-index" in run.arguments and refused in run.stdin:
            return GitOutput(
                128, b"", b"error: open: denied\nfatal: Unable to process path " + refused + b"\n"
            )
        return await real(run)

    monkeypatch.setattr(process, "run_git", refusing)
    made = await captured(folder)
    assert [str(each) for each in made.left_out] == ["'odd\\nname' cannot be read"]
    assert kept(folder, "ls-tree", "-r", "--name-only", made.commit) == b"a\nb\n"


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[GitRun]:
    """Returns a list of the git runs from now on that update our index."""
    runs: list[GitRun] = []
    real = process.run_git

    async def watching(run: GitRun) -> GitOutput:
        runs.append(run)
        return await real(run)

    monkeypatch.setattr(process, "run_git", watching)
    return runs


def _without_status(side: dict[str, bytes | None]) -> dict[str, bytes | None]:
    # With a file monitor, `git status` itself writes to the index.
    return {name: value for name, value in side.items() if not name.endswith("/index")}


async def test_a_private_folder_that_vanishes_during_a_capture_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = await found(new_repository(tmp_path / "tree", {"a": "x"}))

    def gone(*_: object) -> None:
        raise FileNotFoundError(
            2, "No such file or directory", str(repository.private_dir / "index")
        )

    with monkeypatch.context() as patched:
        patched.setattr(initial_index, "_copy_file", gone)
        with pytest.raises(GitFailed, match="index cannot be used"):
            await capture(repository)
    await capture(repository)
