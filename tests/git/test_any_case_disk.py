"""Captures and restores on a real file system that finds a name in any case or Unicode form."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Generator
from ctypes.util import find_library
from pathlib import Path

import pytest
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import captured, contents, found, git, new_repository, write

_DETACH = 2
_LONGEST_WAIT_S = 60


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    """A folder in which such a file system is mounted."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or find_library("fuse3") is None:
        pytest.skip("mounting a file system needs root, /dev/fuse and libfuse3")
    backing, mount = tmp_path / "backing", tmp_path / "mount"
    backing.mkdir()
    mount.mkdir()
    command = [sys.executable, "-m", "tests.git.any_case_disk", str(backing), str(mount)]
    with subprocess.Popen(command) as served:
        try:
            _wait_for(mount, served)
            yield mount
        finally:
            ctypes.CDLL(None).umount2(os.fsencode(mount), _DETACH)
            served.terminate()


def _wait_for(mount: Path, served: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not os.path.ismount(mount):
        assert served.poll() is None, "the file system was not mounted"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_name_is_found_in_any_form_and_kept_as_it_was_written(disk: Path) -> None:
    (disk / "Readme").write_text("one")
    assert (disk / "README").read_text() == "one"
    (disk / "Readme").rename(disk / "README")
    assert os.listdir(disk) == ["README"]
    assert (disk / "readme").samefile(disk / "README")


_RENAMES = [("Readme", "README"), ("folder/a", "Folder/a"), ("\u00e9", "e\u0301")]


@pytest.mark.parametrize(("old", "new"), _RENAMES, ids=["case", "case of a folder", "Unicode form"])
@pytest.mark.parametrize("content", ["one", "two"], ids=["same content", "new content"])
async def test_what_the_repository_tells_apart_has_its_former_name_and_content(
    disk: Path, old: str, new: str, content: str
) -> None:
    folder = new_repository(disk / "tree", {old: "one", "other": "x"})
    git(folder, "config", "core.ignorecase", "false")
    first, before = await captured(folder), contents(folder)
    _rename(folder, old, new)
    write(folder, {new: content})
    second, after = await captured(folder), contents(folder)
    assert before != after
    repository = await found(folder)
    plan = await plan_restore(
        repository, present=second.commit, last_seen=second.commit, target=first.commit
    )
    assert plan.conflicts == ()
    await restore(repository, plan)
    assert contents(folder) == before
    await restore(repository, plan.reversed())
    assert contents(folder) == after


@pytest.mark.parametrize("content", ["one", "two"], ids=["same content", "new content"])
async def test_what_the_repository_takes_for_one_name_keeps_its_file(
    disk: Path, content: str
) -> None:
    folder = new_repository(disk / "tree", {"Readme": "one", "other": "x"})
    assert git(folder, "config", "core.ignorecase").strip() == b"true"
    first = await captured(folder)
    _rename(folder, "Readme", "README")
    write(folder, {"README": content})
    second = await captured(folder)
    repository = await found(folder)
    plan = await plan_restore(
        repository, present=second.commit, last_seen=second.commit, target=first.commit
    )
    await restore(repository, plan)
    assert (folder / "Readme").read_text() == "one"


def _rename(folder: Path, old: str, new: str) -> None:
    """Renames in place each part of a path that differs."""
    at = folder
    for before, after in zip(Path(old).parts, Path(new).parts, strict=True):
        if before != after:
            (at / before).rename(at / after)
        at = at / after
