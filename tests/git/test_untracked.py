"""Which untracked files are left out: by `.trimpointignore`, by their names, and by their total
size.
"""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.config.sections import SECRET_NAMES
from trimpoint.git.capture.omissions import Omission
from trimpoint.git.capture.untracked import called_like_secrets, sizes_of, too_much
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing import process
from trimpoint.git.plumbing.process import GitOutput, GitRun
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import (
    captured,
    contents,
    found,
    git,
    kept,
    new_repository,
    users_side,
    write,
)


def names_in(folder: Path, commit: str) -> list[str]:
    return kept(folder, "ls-tree", "-r", "--name-only", commit).decode().split()


def test_names_of_secrets_are_known_in_any_case_and_examples_are_none() -> None:
    paths = [
        b".env",
        b"sub/.ENV.local",
        b"x/Server.PEM",
        b"id_rsa",
        b".env.example",
        b"id_rsa.pub",
        b"environment",
        b"\xff.key",
    ]
    assert called_like_secrets(paths, SECRET_NAMES) == {
        b".env",
        b"sub/.ENV.local",
        b"x/Server.PEM",
        b"id_rsa",
        b"\xff.key",
    }
    assert called_like_secrets(paths, ()) == set()


@pytest.mark.each_case(reason="each name is another secret")
@pytest.mark.parametrize(
    "name",
    [
        *("prod.env", ".envrc", "auth.json", "credentials", "a.tfvars", "terraform.tfstate"),
        *("kubeconfig", "dev.kubeconfig", "key.ppk", ".vault-token", "id_ecdsa_sk"),
        "service-account-1.json",
    ],
)
def test_names_of_well_known_files_with_keys_are_those_of_secrets(name: str) -> None:
    path = f"sub/{name}".encode()
    assert called_like_secrets([path, b"example.env", b"environment"], SECRET_NAMES) == {path}


async def test_an_ignore_file_that_is_none_is_refused_and_said(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    ignore = folder / ".trimpointignore"
    ignore.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GitFailed, match=r"\.trimpointignore cannot be used \(it is a link\)"):
        await captured(folder)
    ignore.unlink()
    os.mkfifo(ignore)
    with pytest.raises(GitFailed, match="it is no regular file"):
        await captured(folder)
    ignore.unlink()
    ignore.write_bytes(b"x" * 5_000_000)
    with pytest.raises(GitFailed, match="it has more than 4194304 bytes"):
        await captured(folder)


@given(
    st.dictionaries(st.binary(min_size=1), st.integers(0, 100)),
    st.sets(st.binary(min_size=1)),
    st.integers(0, 300),
)
def test_untracked_files_stay_below_the_limit_and_omitted_ones_stay_out(
    sizes: dict[bytes, int], before: set[bytes], most: int
) -> None:
    out = too_much(sizes, before, most)
    assert sum(size for path, size in sizes.items() if path not in out) <= most
    if sum(sizes.values()) <= most:
        assert out == set()
    else:
        assert before & sizes.keys() <= out
    assert too_much(sizes, out, most) == out


async def test_files_named_in_the_ignore_file_are_not_captured(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "tracked.big": "x"})
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text("*.local\n")
    write(
        folder,
        {
            ".trimpointignore": "*.big\n/data/\n!keep.big\n",
            "b.big": "1",
            "keep.big": "1",
            "data/x": "1",
            "c.local": "1",
        },
    )
    before = users_side(folder)
    checkpoint = await captured(folder)
    assert users_side(folder) == before
    assert names_in(folder, checkpoint.commit) == [
        ".trimpointignore",
        "a",
        "keep.big",
        "tracked.big",
    ]
    assert checkpoint.left_out == ()
    write(folder, {".trimpointignore": "keep.*\n"})
    later = await captured(folder)
    assert names_in(folder, later.commit) == [
        ".trimpointignore",
        "a",
        "b.big",
        "data/x",
        "tracked.big",
    ]
    (folder / ".trimpointignore").unlink()
    assert "keep.big" in names_in(folder, (await captured(folder)).commit)


async def test_secrets_are_left_out_said_and_left_alone(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x", "tracked.pem": "public"})
    write(
        folder,
        {
            ".env": "PASSWORD=marked-words",
            "deep/id_rsa": "marked-words",
            ".env.example": "PASSWORD=",
        },
    )
    first = await captured(folder)
    assert first.left_out == (Omission(b".env", "secret"), Omission(b"deep/id_rsa", "secret"))
    assert names_in(folder, first.commit) == [".env.example", "a", "tracked.pem"]
    assert await captured(folder) == first
    write(folder, {".env": "PASSWORD=other", "a": "y"})
    repository, present = await found(folder), (await captured(folder)).commit
    await restore(
        repository,
        await plan_restore(repository, present=present, last_seen=present, target=first.commit),
    )
    assert (folder / ".env").read_text() == "PASSWORD=other"
    assert (folder / "a").read_text() == "x"
    everything = b"".join(
        path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()
    )
    assert b"marked-words" not in everything
    git(folder, "add", "--force", ".env")
    assert ".env" in names_in(folder, (await captured(folder)).commit)


async def test_untracked_files_beyond_the_limit_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    for number in range(6):
        with (folder / f"large{number}").open("wb") as file:
            file.truncate(50_000_000 + number)
    write(folder, {"small": "s"})
    read: list[bytes] = []
    real = process.run_git

    async def watching(run: GitRun) -> GitOutput:
        if "update-index" in run.arguments and "--add" in run.arguments:
            read.append(run.stdin)
        return await real(run)

    monkeypatch.setattr(process, "run_git", watching)
    first = await captured(folder, max_untracked_bytes=1_000)
    assert read == [b"small\0"]
    assert [(each.path, each.reason) for each in first.left_out] == [
        (b"large%d" % number, "tooMuch") for number in range(6)
    ]
    write(folder, {"later": "l", "a": "y"})
    second = await captured(folder, max_untracked_bytes=1_000)
    assert second.left_out == first.left_out
    assert names_in(folder, second.commit) == ["a", "later", "small"]
    for number in range(6):
        (folder / f"large{number}").unlink()
    assert (await captured(folder, max_untracked_bytes=1_000)).left_out == ()
    assert contents(folder).keys() == {b"a", b"later", b"small"}


async def test_tracked_files_that_git_converts_are_not_too_much(tmp_path: Path) -> None:
    folder = new_repository(
        tmp_path / "tree", {".gitattributes": "* text eol=crlf\n", "a": "line\r\n" * 1000}
    )
    write(folder, {"b": "x" * 200})
    checkpoint = await captured(folder, max_untracked_bytes=100)
    assert names_in(folder, checkpoint.commit) == [".gitattributes", "a"]
    assert [each.path for each in checkpoint.left_out] == [b"b"]


def test_the_size_of_what_is_gone_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("xyz")
    assert sizes_of(os.fsencode(tmp_path), [b"a", b"gone"]) == {b"a": 3}
