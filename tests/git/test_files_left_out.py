"""Files that a checkpoint leaves out: ignored, too large, unreadable, and those that are no files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.git.capture.omissions import Omission
from trimpoint.git.restore.plan import Conflict, plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.there_and_back import back_to
from tests.git.worktrees import captured, found, git, new_repository, write


async def test_tracked_files_that_are_ignored_are_captured_and_ignored_ones_are_not(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"forced.log": "1", "a": "x"})
    write(folder, {".gitignore": "*.log\n", "other.log": "1"})
    first = await captured(folder)
    write(folder, {"forced.log": "2", "other.log": "2", "a": "y"})
    await back_to(folder, first)
    assert [(folder / name).read_text() for name in ("forced.log", "other.log", "a")] == [
        "1",
        "2",
        "x",
    ]


async def test_a_file_that_becomes_ignored_is_not_restored(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"build/out": "1"})
    await captured(folder)
    write(folder, {".gitignore": "build/\n"})
    second = await captured(folder)
    write(folder, {"build/out": "2"})
    await back_to(folder, second)
    assert (folder / "build" / "out").read_text() == "2"
    git(folder, "add", "--force", "build/out")
    third = await captured(folder)
    write(folder, {"build/out": "3"})
    await back_to(folder, third)
    assert (folder / "build" / "out").read_text() == "2"


async def test_the_persons_own_excludes_hold(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(tmp_path, {"excludes": "*.mine\n"})
    git(folder, "config", "core.excludesFile", str(tmp_path / "excludes"))
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text("*.local\n")
    first = await captured(folder)
    write(folder, {"x.mine": "1", "x.local": "1", "x.other": "1"})
    plan = await back_to(folder, first)
    assert [step.path for step in plan.remove] == [b"x.other"]


async def test_a_file_over_the_cap_is_left_out_said_and_left_alone(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "grows": "small"})
    first = await captured(folder, max_file_bytes=1000)
    with (folder / "huge").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    write(folder, {"grows": "g" * 2000, "a": "y"})
    second = await captured(folder, max_file_bytes=1000)
    assert second.left_out == (
        Omission(b"grows", "tooLarge", 2000),
        Omission(b"huge", "tooLarge", 300 * 1024 * 1024),
    )
    plan = await plan_restore(
        await found(folder), present=second.commit, last_seen=second.commit, target=first.commit
    )
    assert {each.path for each in plan.left_alone} == {b"grows", b"huge"}
    await restore(await found(folder), plan)
    assert (folder / "a").read_text() == "x"
    assert (folder / "grows").stat().st_size == 2000
    assert (folder / "huge").exists()


async def test_a_committed_file_over_the_cap_is_captured_while_it_is_unchanged(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"big": "b" * 2000})
    first = await captured(folder, max_file_bytes=1000)
    assert first.left_out == ()
    (folder / "big").unlink()
    await back_to(folder, first)
    assert (folder / "big").stat().st_size == 2000


async def test_pipes_and_sockets_are_passed_over(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "was-a-file": "y"})
    first = await captured(folder)
    os.mkfifo(folder / "pipe")
    (folder / "was-a-file").unlink()
    os.mkfifo(folder / "was-a-file")
    second = await captured(folder)
    assert second.left_out == (Omission(b"was-a-file", "notAFile"),)
    repository, third = await found(folder), await captured(folder)
    plan = await plan_restore(
        repository, present=third.commit, last_seen=third.commit, target=first.commit
    )
    assert plan.conflicts == (Conflict(b"was-a-file", "inTheWay", b"was-a-file"),)
    await restore(repository, plan.forced())
    assert (folder / "pipe").is_fifo()
    assert (folder / "was-a-file").is_fifo()


_CAPTURE = """
import sys
from pathlib import Path
import anyio
from tests.git.worktrees import captured
for each in anyio.run(captured, Path(sys.argv[1])).left_out:
    print(each)
"""


def _captured_without_privileges(folder: Path) -> list[str]:
    """Returns the files that a capture leaves out for a user who may not read everything, unlike
    root.
    """
    run = [sys.executable, "-c", _CAPTURE, str(folder)]
    if os.getuid() == 0:
        run = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *run]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        run, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.skipif(
    os.getuid() == 0 and not shutil.which("setpriv"), reason="root can read everything"
)
def test_unreadable_files_are_left_out_and_noted(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "tracked": "1", "closed/b": "1"})
    write(folder, {"secret": "s", "a": "changed", "tracked": "2"})
    closed = [folder / name for name in ("secret", "tracked", "closed")]
    for path in closed:
        path.chmod(0)
    try:
        left_out = _captured_without_privileges(folder)
    finally:
        for path in closed:
            path.chmod(0o755)
    assert left_out == ["closed/ cannot be read", "secret cannot be read", "tracked cannot be read"]
