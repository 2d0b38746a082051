"""A checkpoint and a restore, in every kind of repository."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import Omission
from trimpoint.git.restore.plan import Conflict, RestorePlan, plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import captured, contents, found, git, new_repository, users_side, write


async def _back_to(folder: Path, target: Checkpoint) -> RestorePlan:
    """Restores a checkpoint, as a thread would that has seen all changes."""
    repository = await found(folder)
    present = await captured(folder)
    plan = await plan_restore(
        repository, present=present.commit, last_seen=present.commit, target=target.commit
    )
    await restore(repository, plan)
    return plan


async def _there_and_back(folder: Path, edit: Callable[[], object]) -> None:
    """Checks that a restore undoes `edit`, and that capturing does not change the person's git
    data.
    """
    before = users_side(folder)
    checkpoint = await captured(folder)
    assert users_side(folder) == before
    copy = contents(folder)
    edit()
    assert contents(folder) != copy
    await _back_to(folder, checkpoint)
    assert contents(folder) == copy


async def test_without_a_single_commit(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "sub/b": "y"}, commit=False)
    await _there_and_back(folder, lambda: write(folder, {"a": "z", "c": "new"}))


async def test_without_a_single_commit_but_with_staged_files(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "sub/b": "y"}, commit=False)
    git(folder, "add", "a")
    git(folder, "add", "--intent-to-add", "sub/b")
    await _there_and_back(folder, lambda: write(folder, {"a": "z", "sub/b": "new"}))


async def test_with_nothing_in_it_at_all(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", commit=False)
    await _there_and_back(folder, lambda: write(folder, {"a": "z"}))


async def test_on_a_detached_head(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "checkout", "--quiet", "--detach")
    await _there_and_back(folder, lambda: write(folder, {"a": "z"}))


async def test_in_a_linked_work_tree(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    linked = tmp_path / "linked"
    git(folder, "worktree", "add", "--quiet", str(linked))
    write(folder, {"a": "other"})
    await _there_and_back(linked, lambda: write(linked, {"a": "z", "b": "y"}))
    assert (folder / "a").read_text() == "other"


async def test_in_a_work_tree_of_a_bare_repository(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), "bare.git")
    linked = tmp_path / "linked"
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(linked))
    await _there_and_back(linked, lambda: write(linked, {"a": "z", "b": "y"}))


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
    await _there_and_back(folder, lambda: write(folder, {"a": "solved\n"}))


async def test_with_staged_and_unstaged_changes_and_a_stash(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x\n", "b": "x\n"})
    write(folder, {"a": "stashed\n"})
    git(folder, "stash", "--quiet")
    write(folder, {"a": "staged\n"})
    git(folder, "add", "a")
    write(folder, {"a": "unstaged\n", "new": "y"})
    await _there_and_back(folder, lambda: write(folder, {"a": "z", "new": "n"}))


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
    await _back_to(folder, checkpoint)
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


async def test_a_folder_that_becomes_a_repository_is_left_alone_from_then_on(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"sub/s": "1"})
    checkpoint = await captured(folder)
    (folder / "sub" / "s").unlink()
    new_repository(folder / "sub", {"t": "1"})
    await captured(folder)
    await _back_to(folder, checkpoint)
    assert not (folder / "sub" / "s").exists()
    assert (folder / "sub" / "t").read_text() == "1"


async def test_a_repository_that_becomes_a_folder_is_not_removed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    new_repository(folder / "sub", {"t": "1"})
    checkpoint = await captured(folder)
    (folder / "sub" / ".git").rename(tmp_path / "gone")
    await captured(folder)
    await _back_to(folder, checkpoint)
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
    await _there_and_back(folder, lambda: write(folder, {"in/a": "2", "in/new": "3"}))
    plan = await _back_to(folder, checkpoint_before)
    assert not (folder / "out").exists()
    assert {each.path for each in plan.left_alone if each.reason == "sparse"} == {
        b"out/b",
        b"out/deep/c",
    }
    git(folder, "sparse-checkout", "disable")
    await _there_and_back(folder, lambda: write(folder, {"out/b": "2", "in/a": "3"}))


async def test_a_split_index(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "b": "y"})
    git(folder, "update-index", "--split-index")
    write(folder, {"a": "z"})
    git(folder, "add", "a")
    await _there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_the_other_hash(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "tree")
    folder = tmp_path / "tree"
    write(folder, {"a": "x", "b": "y"})
    git(folder, "add", "a")
    await _there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_objects_that_are_borrowed(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin", {"a": "x", "b": "y"})
    git(tmp_path, "clone", "--quiet", "--shared", str(origin), "tree")
    folder = tmp_path / "tree"
    await _there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


async def test_a_partial_clone_whose_origin_is_gone(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin", {"a": "x", "b": "y"})
    write(origin, {"a": "x2"})
    git(origin, "commit", "--quiet", "-am", "second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "tree")
    origin.rename(tmp_path / "moved")
    folder = tmp_path / "tree"
    await _there_and_back(folder, lambda: write(folder, {"a": "2", "b": "2"}))


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

    await _there_and_back(folder, edit)


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
    await _there_and_back(folder, lambda: edit("second"))


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
    await _there_and_back(
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
    await _back_to(folder, checkpoint)
    assert (folder / "x.bin").read_text() == "abc"
    assert not (tmp_path / "asked").exists()


async def test_files_that_git_was_told_to_take_for_unchanged(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "b": "y"})
    git(folder, "update-index", "--assume-unchanged", "a")
    git(folder, "update-index", "--skip-worktree", "b")
    write(folder, {"a": "mine"})
    await _there_and_back(folder, lambda: write(folder, {"a": "2"}))


async def test_tracked_files_that_are_ignored_are_captured_and_ignored_ones_are_not(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"forced.log": "1", "a": "x"})
    write(folder, {".gitignore": "*.log\n", "other.log": "1"})
    first = await captured(folder)
    write(folder, {"forced.log": "2", "other.log": "2", "a": "y"})
    await _back_to(folder, first)
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
    await _back_to(folder, second)
    assert (folder / "build" / "out").read_text() == "2"
    git(folder, "add", "--force", "build/out")
    third = await captured(folder)
    write(folder, {"build/out": "3"})
    await _back_to(folder, third)
    assert (folder / "build" / "out").read_text() == "2"


async def test_the_persons_own_excludes_hold(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(tmp_path, {"excludes": "*.mine\n"})
    git(folder, "config", "core.excludesFile", str(tmp_path / "excludes"))
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text("*.local\n")
    first = await captured(folder)
    write(folder, {"x.mine": "1", "x.local": "1", "x.other": "1"})
    plan = await _back_to(folder, first)
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
    await _back_to(folder, first)
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
