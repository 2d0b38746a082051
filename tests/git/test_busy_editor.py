"""A restore beside an editor that keeps writing: the restore is either done or refused, and the
editor's last content is never lost.
"""

import sys
from pathlib import Path

import anyio
import pytest
from trimpoint.git.errors import FilesChanged
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.restore.plan import RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore

from tests.deadlines import SCENARIO_S
from tests.git.worktrees import captured, contents, found, new_repository, write

# Saves as editors do, by a new file or in place, and says what it saves before it does.
_EDITOR = """
import itertools, os, sys
path, way = sys.argv[1:]
for number in itertools.count():
    print(number, flush=True)
    if way == "rename":
        with open(path + ".ignored", "w") as file:
            file.write(str(number))
        os.rename(path + ".ignored", path)
    else:
        with open(path, "w") as file:
            file.write(str(number))
    sys.stdin.readline()
"""


@pytest.mark.parametrize("way", ["rename", "in place"])
async def test_an_editor_that_keeps_saving_loses_nothing(tmp_path: Path, way: str) -> None:
    names = [f"f{number}" for number in range(20)]
    folder = new_repository(
        tmp_path / "tree", {".gitignore": "*.ignored\n", **dict.fromkeys(names, "old")}
    )
    repository = await found(folder)
    first, before = await captured(folder), contents(folder)
    write(folder, dict.fromkeys(names, "new"))
    edited = folder / "f10"
    async with await anyio.open_process(
        [sys.executable, "-c", _EDITOR, str(edited), way]
    ) as editor:
        assert editor.stdin is not None
        assert editor.stdout is not None
        with anyio.fail_after(SCENARIO_S):
            for _ in range(10):
                saved = (await editor.stdout.receive()).decode().split()[-1]
                present = await captured(folder)
                await editor.stdin.send(b"\n")  # it saves again from here on, at any moment
                plan = await plan_restore(
                    repository,
                    present=present.commit,
                    last_seen=present.commit,
                    target=first.commit,
                )
                if refused := await _restored(repository, plan):
                    assert refused == (b"f10",)
                    assert contents(folder)[b"f9"] == ("file", b"new")
                else:
                    assert contents(folder) == before | {b"f10": contents(folder)[b"f10"]}
                    write(folder, {name: "new" for name in names if name != "f10"})
                assert contents(folder)[b"f10"][1] in {
                    b"old",
                    b"",
                    str(int(saved)).encode(),
                    str(int(saved) + 1).encode(),
                }
        editor.kill()


async def _restored(repository: Repository, plan: RestorePlan) -> tuple[bytes, ...]:
    """Restores files, and returns the paths for which it was refused, if it was."""
    try:
        await restore(repository, plan)
    except FilesChanged as refusal:
        return refusal.paths
    return ()
