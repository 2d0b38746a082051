from pathlib import Path

import pytest
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.compare import Change, changes, content, diff

from tests.git.worktrees import captured, found, git, new_repository, write


async def test_every_kind_of_change_is_reported_with_its_line_counts(tmp_path: Path) -> None:
    folder = new_repository(
        tmp_path / "tree",
        {"a": "1\n2\n3\n", "gone": "1\n", "type": "x\n", "bin": b"\0\1", "mode": "m\n"},
    )
    write(folder, {"long name": "".join(f"line {number}\n" for number in range(20))})
    first = await captured(folder)
    write(folder, {"a": "1\n3\n4\n5\n", "new\nline": "x\n", "bin": b"\0\2", "crlf": "x\r\n"})
    (folder / "gone").unlink()
    (folder / "type").unlink()
    (folder / "type").symlink_to("a")
    (folder / "mode").chmod(0o755)
    (folder / "long name").rename(folder / "renamed")
    second = await captured(folder)
    assert await changes(await found(folder), first.commit, second.commit) == [
        Change(b"a", "modified", 2, 1),
        Change(b"bin", "modified", binary=True),
        Change(b"crlf", "added", 1, 0),
        Change(b"gone", "deleted", 0, 1),
        Change(b"mode", "modified", 0, 0),
        Change(b"new\nline", "added", 1, 0),
        Change(b"renamed", "renamed", 0, 0, old_path=b"long name"),
        Change(b"type", "typeChanged", 1, 1),
    ]
    assert await changes(await found(folder), first.commit, first.commit) == []


async def test_a_diff_is_gits_and_names_binary_files_without_showing_them(tmp_path: Path) -> None:
    folder = new_repository(
        tmp_path / "tree", {"a": "1\n", "bin": b"\0\1", ".gitattributes": "a diff=shout\n"}
    )
    git(folder, "config", "diff.shout.textconv", "tr a-z A-Z")
    git(folder, "config", "diff.external", "false")
    first = await captured(folder)
    write(folder, {"a": "2\n", "bin": b"\0\2"})
    second = await captured(folder)
    repository = await found(folder)
    whole = await diff(repository, first.commit, second.commit)
    assert not whole.truncated
    assert b"-1\n+2\n" in whole.text
    assert b"Binary files a/bin and b/bin differ" in whole.text
    assert b"bin" not in (await diff(repository, first.commit, second.commit, paths=[b"a"])).text
    back = await diff(repository, second.commit, first.commit)
    assert b"-2\n+1\n" in back.text


async def test_a_long_diff_is_cut_and_says_so(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    write(folder, {"a": "line\n" * 1_000_000})
    second = await captured(folder)
    cut = await diff(await found(folder), first.commit, second.commit, max_bytes=1000)
    assert (len(cut.text), cut.truncated) == (1000, True)


async def test_a_missing_checkpoint_is_reported(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    first = await captured(folder)
    with pytest.raises(GitFailed, match="could not compare checkpoints"):
        await changes(await found(folder), first.commit, "0" * 39 + "1")


async def test_a_file_is_read_as_a_checkpoint_has_it_whatever_it_is_called(tmp_path: Path) -> None:
    names = ("a", "folder/-r", ":(glob)*", "näme", "line\r\nend")
    folder = new_repository(tmp_path / "tree", {name: f"{name}\r\n" for name in names})
    commit = (await captured(folder)).commit
    write(folder, {"a": "another"})
    repository = await found(folder)
    for name in names:
        read = await content(repository, commit, name.encode(), 100)
        assert read is not None
        assert (read.text, read.truncated) == (f"{name}\r\n".encode(), False)
    cut = await content(repository, commit, b"folder/-r", 3)
    assert cut is not None
    assert (cut.text, cut.truncated) == (b"fol", True)


@pytest.mark.parametrize("path", ["", "b", "folder", "folder/", "../a", "/a", "*", "a\0b", "-z"])
async def test_what_is_no_file_of_a_checkpoint_is_not_read(tmp_path: Path, path: str) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "1", "folder/b": "2"})
    commit = (await captured(folder)).commit
    assert await content(await found(folder), commit, path.encode(), 100) is None
