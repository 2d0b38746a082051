"""Nothing in a repository has git run a program, whatever its files and settings say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.git.everything import everything
from tests.git.hostile import TABLE, Row, script
from tests.git.worktrees import git, new_repository, write

_VERSION = tuple(
    map(
        int,
        re.findall(
            rb"\d+", subprocess.run(["git", "version"], capture_output=True, check=True).stdout
        )[:2],
    )
)


def _prepared(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "tree", {"a": "one", "sub/b": "two"})
    git(folder, "update-index", "--split-index")
    write(folder, {"a": "three", "untracked": "x"})
    return folder


@pytest.mark.each_case(reason="each setting is another way to run a program")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
async def test_no_program_of_the_repository_runs(tmp_path: Path, row: Row) -> None:
    folder, witness = _prepared(tmp_path), tmp_path / "witness"
    run = script(tmp_path / "run", f"touch {witness}")
    row.plant(folder, run)
    if row.armed_by and row.since <= _VERSION:
        armed = shutil.copytree(folder, tmp_path / "armed", symlinks=True)
        git(armed, *row.armed_by, check=False)
        assert witness.exists(), "this row is no trap"
    witness.unlink(missing_ok=True)
    await everything(folder / "sub" if row.begins_below else folder)
    assert not witness.exists()
