"""A restore after a rename that changes only the case or the Unicode form of a name, where both names
are one file on the disk.
"""

from pathlib import Path

import pytest
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.any_case import find_names_in_any_form
from tests.git.worktrees import captured, contents, found, new_repository, write

_RENAMES = [
    ("Readme", "README"),
    ("folder/a", "Folder/a"),
    ("\u00e9", "e\u0301"),
    ("stra\u00dfe", "STRASSE"),
]


@pytest.mark.parametrize(("old", "new"), _RENAMES)
@pytest.mark.parametrize("content", ["one", "two"], ids=["same content", "new content"])
async def test_the_file_has_its_former_name_and_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, content: str
) -> None:
    folder = new_repository(tmp_path / "tree", {old: "one", "other": "x"})
    first, before = await captured(folder), contents(folder)
    _rename(folder, old, new)
    write(folder, {new: content})
    second, after = await captured(folder), contents(folder)
    repository = await found(folder)
    with monkeypatch.context() as patched:
        find_names_in_any_form(patched)
        plan = await plan_restore(
            repository, present=second.commit, last_seen=second.commit, target=first.commit
        )
        assert plan.conflicts == ()
        await restore(repository, plan)
        assert contents(folder) == before
        # As after a kill: what is done already stays.
        await restore(repository, plan)
        assert contents(folder) == before
        await restore(repository, plan.reversed())
        assert contents(folder) == after


async def test_two_files_that_differ_in_case_stay_two_files(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"Readme": "one", "other": "x"})
    first, before = await captured(folder), contents(folder)
    (folder / "Readme").unlink()
    write(folder, {"README": "one"})
    (folder / "readme").hardlink_to(folder / "README")
    second = await captured(folder)
    repository = await found(folder)
    plan = await plan_restore(
        repository, present=second.commit, last_seen=second.commit, target=first.commit
    )
    await restore(repository, plan)
    assert contents(folder) == before


def _rename(folder: Path, old: str, new: str) -> None:
    (folder / new).parent.mkdir(exist_ok=True)
    (folder / old).rename(folder / new)
    if (parent := (folder / old).parent) != folder:
        parent.rmdir()
