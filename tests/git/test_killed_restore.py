"""SIGKILL in the middle of a restore: repeating it completes it, and restoring in reverse undoes
it.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.deadlines import SCENARIO_S
from tests.git.worktrees import captured, contents, found, new_repository, write

_KILLS = [
    ("write", 0),
    ("write", 2),
    ("complete", 0),
    *(("move", at) for at in range(5)),
    ("check", 1),
    ("check", 3),
    ("close", 0),
]


@pytest.mark.parametrize("forward", [True, False], ids=["finish", "undo"])
@pytest.mark.parametrize(("call", "number"), _KILLS)
async def test_a_killed_restore_is_finished_or_undone(
    tmp_path: Path, call: str, number: int, forward: bool
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "1", "b/c": "1", "swap/x": "1", "same": "0"})
    first, before = await captured(folder), contents(folder)
    shutil.rmtree(folder / "swap")
    write(folder, {"a": "2", "b/c": "2", "swap": "2", "new/d": "2"})
    second, after = await captured(folder), contents(folder)
    _killed(folder, second.commit, first.commit, call, number)
    repository = await found(folder)
    plan = await plan_restore(
        repository, present=second.commit, last_seen=second.commit, target=first.commit
    )
    await restore(repository, plan if forward else plan.reversed())
    assert contents(folder) == (before if forward else after)
    private = folder / ".git" / "trimpoint"
    assert not (private / "restore").exists()
    assert not (private / "rescued").exists()


async def test_a_file_swapped_out_when_the_process_was_killed_is_rescued(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "1", "b": "1"})
    first = await captured(folder)
    write(folder, {"a": "2", "b": "2"})
    second = await captured(folder)
    _killed(folder, second.commit, first.commit, "check", 0)
    assert contents(folder)[b"a"] == ("file", b"1")
    aside = folder / ".git" / "trimpoint" / "restore" / "0"
    assert aside.read_text() == "2"
    aside.write_text("written by an editor in that very moment")
    repository = await found(folder)
    await restore(
        repository,
        await plan_restore(
            repository, present=second.commit, last_seen=second.commit, target=first.commit
        ),
    )
    rescued = folder / ".git" / "trimpoint" / "rescued" / "1-0"
    assert rescued.read_text() == "written by an editor in that very moment"


def _killed(folder: Path, present: str, target: str, call: str, number: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.git.restoring_process",
        str(folder),
        present,
        target,
        call,
        str(number),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, check=False, timeout=SCENARIO_S)
    assert done.returncode == -signal.SIGKILL
