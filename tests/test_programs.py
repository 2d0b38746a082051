"""Programs are found in the absolute entries of PATH alone."""

from pathlib import Path

import pytest
from trimpoint.programs import find_program, find_program_once


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("entry", ["bin", "./bin", "", ".", "../here/bin"])
def test_an_entry_that_depends_on_the_present_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    _program(tmp_path / "here" / "bin" / "git")
    monkeypatch.chdir(tmp_path / "here")
    assert find_program("git", {"PATH": entry}) is None
    theirs = _program(tmp_path / "usr" / "git")
    assert find_program("git", {"PATH": f"{entry}:{theirs.parent}"}) == theirs


def test_without_a_path_there_is_no_program() -> None:
    assert find_program("git", {}) is None


def test_a_program_is_looked_for_once_for_as_long_as_it_is_there(tmp_path: Path) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    environ = {"PATH": f"{early}:{late}"}
    assert find_program_once("git", environ) is None
    later = _program(late / "git")
    assert find_program_once("git", environ) == later
    earlier = _program(early / "git")
    assert find_program_once("git", environ) == later
    later.unlink()
    assert find_program_once("git", environ) == earlier
