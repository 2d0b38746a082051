import os
import shutil
from pathlib import Path

import anyio
import pytest
from trimpoint.git.dot_git import branch_of
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing import repository
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover

from tests.deadlines import STEP_S
from tests.git.worktrees import found, git, new_repository, write


async def _refused(folder: Path) -> NoRepository:
    answer = await discover(folder)
    assert isinstance(answer, NoRepository), answer
    return answer


async def test_a_folder_below_the_root_has_the_whole_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"sub/deep/a": "x"})
    assert await found(folder / "sub" / "deep") == await found(folder)
    assert (await found(folder)).worktree == folder


async def test_a_folder_reached_through_a_link_has_the_same_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    (tmp_path / "link").symlink_to(folder)
    assert await found(tmp_path / "link") == await found(folder)


async def test_a_linked_work_tree_has_a_git_directory_of_its_own(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    linked, main = await found(tmp_path / "linked"), await found(folder)
    assert linked.worktree == tmp_path / "linked"
    assert linked.private_dir != main.private_dir
    assert (linked.common_dir, linked.objects_dir) == (main.common_dir, main.objects_dir)


async def test_a_work_tree_of_a_bare_repository_is_found_and_the_repository_itself_is_refused(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(bare))
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert (await found(tmp_path / "linked")).common_dir == bare
    assert "no work tree" in (await _refused(bare)).reason


def test_the_branch_of_a_folder_is_the_one_that_git_names(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"sub/a": "x"})
    long = "topic/" + "x" * 200
    git(folder, "checkout", "--quiet", "-b", long)
    git(folder, "worktree", "add", "--quiet", "-b", "été", str(tmp_path / "linked"))
    assert branch_of(str(folder / "sub")) == long
    assert branch_of(str(tmp_path / "linked")) == "été"
    (folder / ".git" / "HEAD").write_bytes(b"ref: refs/heads/no-\xff-utf8\n")
    assert branch_of(str(folder)) == "no-\ufffd-utf8"
    git(folder, "checkout", "--quiet", "--detach", long)
    assert branch_of(str(folder)) is None
    assert branch_of(str(tmp_path)) is None
    assert branch_of(str(tmp_path / "is not there")) is None


async def test_the_git_directory_is_no_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    assert "no work tree" in (await _refused(folder / ".git")).reason


def _looks_like_a_bare_repository(folder: Path) -> None:
    write(folder, {"HEAD": "ref: refs/heads/main\n", "refs/keep": "", "objects/keep": ""})
    write(folder, {"config": f'[core]\n\tbare = false\n\tworktree = "{folder}"\n'})


async def test_four_plain_files_are_no_repository(tmp_path: Path) -> None:
    _looks_like_a_bare_repository(tmp_path)
    assert await discover(tmp_path) == NoRepository(
        f"{tmp_path} is inside of a git directory or a bare repository and has no work tree."
    )


@pytest.mark.parametrize("inside", ["", "sub"])
async def test_four_plain_files_do_not_hide_the_repository_around_them(
    tmp_path: Path, inside: str
) -> None:
    folder = new_repository(tmp_path / "tree", {"sub/a": "x"})
    _looks_like_a_bare_repository(folder / inside)
    assert (await found(folder / "sub")).git_dir == folder / ".git"


async def test_four_plain_files_beside_an_empty_git_folder_are_no_repository(
    tmp_path: Path,
) -> None:
    _looks_like_a_bare_repository(tmp_path)
    (tmp_path / ".git").mkdir()
    await _refused(tmp_path)


async def test_a_git_directory_that_claims_the_common_directory_of_another_is_refused(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    other = new_repository(tmp_path / "other", {"a": "x"})
    write(folder, {".git/commondir": str(other / ".git")})
    assert f"is part of {other / '.git'}, and is not" in (await _refused(folder)).reason


async def test_a_folder_outside_of_any_repository_is_reported(tmp_path: Path) -> None:
    assert (await _refused(tmp_path)).reason == f"{tmp_path} is not in a git repository."


async def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    assert "does not exist any more" in (await _refused(tmp_path / "gone")).reason


async def test_a_missing_git_is_reported_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refusal = await _refused(tmp_path)
    assert "git is not installed" in refusal.reason
    assert "Install git" in refusal.hint


async def test_an_old_git_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 1.8.3\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / ".git").mkdir()
    assert "git version 1.8.3" in (await _refused(tmp_path)).reason


async def test_an_unreadable_git_directory_is_reported_in_gits_words(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "config", "core.repositoryFormatVersion", "99")
    assert "99" in (await _refused(folder)).reason


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository away")
async def test_a_repository_of_another_owner_is_refused_with_the_command_that_trusts_it(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345)
    refusal = await _refused(folder)
    assert "another user owns it" in refusal.reason
    assert f"git config --global --add safe.directory {folder}" in refusal.hint


async def test_variables_that_leaked_in_do_not_lead_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    other = new_repository(tmp_path / "other", {"b": "y"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert (await found(folder)).git_dir == folder / ".git"


async def test_a_name_with_newlines_is_kept_whole(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "new\nline\n", {"a": "x"})
    assert (await found(folder)).worktree == folder


async def test_a_repository_of_the_other_hash_is_known_as_such(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "tree")
    assert (await found(tmp_path / "tree")).hash_name == "sha256"
    assert isinstance(await found(tmp_path / "tree"), Repository)
    shutil.rmtree(tmp_path / "tree")


async def test_settings_in_a_pipe_are_reported_after_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    os.mkfifo(folder / ".git" / "more")
    git(folder, "config", "include.path", "more")
    monkeypatch.setattr(repository, "_DISCOVERY_DEADLINE_S", 0.2)
    with anyio.fail_after(STEP_S), pytest.raises(GitFailed, match="longer than"):
        await discover(folder)
