"""A checkpoint and a restore, in every kind of repository."""

import os
from pathlib import Path

import pytest
from trimpoint.git.capture.omissions import Omission

from tests.git.there_and_back import back_to, there_and_back
from tests.git.worktrees import captured, git, kept, new_repository, users_side, write


async def test_without_a_single_commit(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "sub/b": "y"}, commit=False)
    await there_and_back(folder, lambda: write(folder, {"a": "z", "c": "new"}))


async def test_without_a_single_commit_but_with_staged_files(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "sub/b": "y"}, commit=False)
    git(folder, "add", "a")
    git(folder, "add", "--intent-to-add", "sub/b")
    await there_and_back(folder, lambda: write(folder, {"a": "z", "sub/b": "new"}))


async def test_with_nothing_in_it_at_all(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", commit=False)
    await there_and_back(folder, lambda: write(folder, {"a": "z"}))


async def test_on_a_detached_head(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "checkout", "--quiet", "--detach")
    await there_and_back(folder, lambda: write(folder, {"a": "z"}))


async def test_in_a_linked_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    linked = tmp_path / "linked"
    git(folder, "worktree", "add", "--quiet", str(linked))
    write(folder, {"a": "other"})
    await there_and_back(linked, lambda: write(linked, {"a": "z", "b": "y"}))
    assert (folder / "a").read_text() == "other"


async def test_in_a_work_tree_of_a_bare_repository(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), "bare.git")
    linked = tmp_path / "linked"
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(linked))
    await there_and_back(linked, lambda: write(linked, {"a": "z", "b": "y"}))


async def test_in_the_middle_of_a_merge_conflict(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x\n", "b": "x\n"})
    git(folder, "checkout", "--quiet", "-b", "other")
    write(folder, {"a": "other\n"})
    git(folder, "commit", "--quiet", "-am", "other")
    git(folder, "checkout", "--quiet", "-")
    write(folder, {"a": "mine\n"})
    git(folder, "commit", "--quiet", "-am", "mine")
    git(folder, "merge", "other", check=False)
    assert b"<<<<" in (folder / "a").read_bytes()
    await there_and_back(folder, lambda: write(folder, {"a": "solved\n"}))


async def test_with_staged_and_unstaged_changes_and_a_stash(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x\n", "b": "x\n"})
    write(folder, {"a": "stashed\n"})
    git(folder, "stash", "--quiet")
    write(folder, {"a": "staged\n"})
    git(folder, "add", "a")
    write(folder, {"a": "unstaged\n", "new": "y"})
    await there_and_back(folder, lambda: write(folder, {"a": "z", "new": "n"}))


async def test_submodules_and_nested_repositories_are_left_alone_and_said(tmp_path: Path) -> None:
    library = new_repository(tmp_path / "library", {"lib": "1"})
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(folder, "commit", "--quiet", "-m", "submodule")
    new_repository(folder / "nested", {"n": "1"})
    new_repository(folder / "unborn", {"u": "1"}, commit=False)
    before = users_side(folder)
    checkpoint = await captured(folder)
    assert users_side(folder) == before
    assert checkpoint.left_out == tuple(
        Omission(path, "nestedRepository") for path in (b"nested/", b"unborn/", b"vendor/lib/")
    )
    write(
        folder, {"a": "z", "nested/n": "2", "unborn/u": "2", "vendor/lib/lib": "2", "unborn/v": "3"}
    )
    git(folder / "vendor" / "lib", "commit", "--quiet", "-am", "moved")
    await back_to(folder, checkpoint)
    assert (folder / "a").read_text() == "x"
    assert [
        (folder / name).read_text()
        for name in ("nested/n", "unborn/u", "vendor/lib/lib", "unborn/v")
    ] == [
        "2",
        "2",
        "2",
        "3",
    ]


async def test_a_folder_with_an_empty_git_folder_is_captured(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "inner/b": "1"})
    (folder / "inner" / ".git").mkdir()
    write(folder, {"inner/b": "2"})
    first = await captured(folder)
    assert first.left_out == ()
    assert kept(folder, "show", f"{first.commit}:inner/b") == b"2"


async def test_a_folder_that_becomes_a_repository_is_left_alone_from_then_on(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"sub/s": "1"})
    checkpoint = await captured(folder)
    (folder / "sub" / "s").unlink()
    new_repository(folder / "sub", {"t": "1"})
    await captured(folder)
    await back_to(folder, checkpoint)
    assert not (folder / "sub" / "s").exists()
    assert (folder / "sub" / "t").read_text() == "1"


async def test_a_repository_that_becomes_a_folder_is_not_removed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    new_repository(folder / "sub", {"t": "1"})
    checkpoint = await captured(folder)
    (folder / "sub" / ".git").rename(tmp_path / "gone")
    await captured(folder)
    await back_to(folder, checkpoint)
    assert (folder / "sub" / "t").read_text() == "1"


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
async def test_a_sparse_checkout_stays_sparse(tmp_path: Path, cone: str, sparse_index: str) -> None:
    if (cone, sparse_index) == ("--no-cone", "--sparse-index"):
        pytest.skip("git has no sparse index without cone mode")
    folder = new_repository(
        tmp_path / "tree", {"top": "x", "in/a": "1", "out/b": "1", "out/deep/c": "1"}
    )
    checkpoint_before = await captured(folder)
    git(folder, "sparse-checkout", "init", cone, sparse_index)
    git(folder, "sparse-checkout", "set", *(["in"] if cone == "--cone" else ["/in/", "/top"]))
    assert not (folder / "out").exists()
    await there_and_back(folder, lambda: write(folder, {"in/a": "2", "in/new": "3"}))
    plan = await back_to(folder, checkpoint_before)
    assert not (folder / "out").exists()
    assert {each.path for each in plan.left_alone if each.reason == "sparse"} == {
        b"out/b",
        b"out/deep/c",
    }
    git(folder, "sparse-checkout", "disable")
    await there_and_back(folder, lambda: write(folder, {"out/b": "2", "in/a": "3"}))


async def test_a_split_index(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "b": "y"})
    git(folder, "update-index", "--split-index")
    write(folder, {"a": "z"})
    git(folder, "add", "a")
    await there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_the_other_hash(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "tree")
    folder = tmp_path / "tree"
    write(folder, {"a": "x", "b": "y"})
    git(folder, "add", "a")
    await there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_objects_that_are_borrowed(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin", {"a": "x", "b": "y"})
    git(tmp_path, "clone", "--quiet", "--shared", str(origin), "tree")
    folder = tmp_path / "tree"
    await there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_a_partial_clone_whose_origin_is_gone(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin", {"a": "x", "b": "y"})
    write(origin, {"a": "x2"})
    git(origin, "commit", "--quiet", "-am", "second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "tree")
    origin.rename(tmp_path / "moved")
    folder = tmp_path / "tree"
    await there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_links_permissions_and_swaps(tmp_path: Path) -> None:
    folder = new_repository(
        tmp_path / "tree", {"file": "x", "folder/a": "1", "script": "#!/bin/sh\n", "gone": "g"}
    )
    (folder / "script").chmod(0o755)
    (folder / "link").symlink_to("folder")
    (folder / "broken").symlink_to("/nowhere/at all")

    def edit() -> None:
        (folder / "script").chmod(0o644)
        (folder / "link").unlink()
        write(folder, {"link/inside": "now a folder", "broken.d/x": "1"})
        (folder / "broken").unlink()
        (folder / "folder" / "a").unlink()
        (folder / "folder").rmdir()
        (folder / "folder").symlink_to("link")
        (folder / "file").unlink()
        write(folder, {"file/a/b": "now a folder"})
        (folder / "gone").unlink()

    await there_and_back(folder, edit)


async def test_names_of_any_bytes(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    top = os.fsencode(folder)
    names = [
        b"\xff\xfe",
        b"new\nline",
        b"*",
        b":(top)",
        b"-rf",
        b'"quoted"',
        b"\ttab",
        b" ",
        b"a\\b",
        b"git~1",
        b"\x01",
    ]

    def edit(said: str) -> None:
        for name in names:
            Path(os.fsdecode(os.path.join(top, name))).write_text(said)

    edit("first")
    await there_and_back(folder, lambda: edit("second"))


async def test_line_endings_that_git_would_convert(tmp_path: Path) -> None:
    folder = new_repository(
        tmp_path / "tree",
        {".gitattributes": "* text=auto\n*.bat eol=crlf\n", "a.txt": "1\n2\n", "b.bat": "1\r\n"},
    )
    git(folder, "config", "core.autocrlf", "true")
    git(folder, "rm", "--quiet", "--cached", "-r", ".")
    git(folder, "reset", "--quiet", "--hard")
    assert (folder / "a.txt").read_bytes() == b"1\r\n2\r\n"
    write(folder, {"mixed.txt": "1\r\n2\n", "b.bat": "1\n2\r\n"})
    await there_and_back(
        folder, lambda: write(folder, {"a.txt": "1\n2\n", "mixed.txt": "1\n2\n", "b.bat": "1\n2\n"})
    )


async def test_filters_are_not_asked(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {".gitattributes": "*.bin filter=big\n"})
    git(folder, "config", "filter.big.clean", f"tee -a {tmp_path}/asked | tr a-z A-Z")
    git(folder, "config", "filter.big.smudge", f"tee -a {tmp_path}/asked | tr A-Z a-z")
    write(folder, {"x.bin": "abc"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "filtered")
    (tmp_path / "asked").unlink()
    checkpoint = await captured(folder)
    write(folder, {"x.bin": "aBc"})
    await back_to(folder, checkpoint)
    assert (folder / "x.bin").read_text() == "abc"
    assert not (tmp_path / "asked").exists()


async def test_files_that_git_was_told_to_take_for_unchanged(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "b": "y"})
    git(folder, "update-index", "--assume-unchanged", "a")
    git(folder, "update-index", "--skip-worktree", "b")
    write(folder, {"a": "mine"})
    await there_and_back(folder, lambda: write(folder, {"a": "2"}))


async def test_a_file_that_git_was_told_to_skip_in_the_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "b": "y"})
    git(folder, "update-index", "--skip-worktree", "b")
    write(folder, {"b": "mine"})
    await there_and_back(folder, lambda: write(folder, {"a": "2", "b": "the agent's"}))


@pytest.mark.parametrize("content", ["x", "y"])
async def test_a_rename_of_the_case_alone_where_git_was_told_that_the_disk_ignores_it(
    tmp_path: Path, content: str
) -> None:
    folder = new_repository(tmp_path / "tree", {"README": "x", "Lib/a": "y"})
    git(folder, "config", "core.ignorecase", "true")

    def rename() -> None:
        git(folder, "mv", "README", "readme")
        (folder / "Lib").rename(folder / "lib")
        write(folder, {"readme": content})

    await there_and_back(folder, rename)
