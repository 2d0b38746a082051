"""Whatever a git directory has in the place of trimpoint's own files, nothing outside of it and of
the worktree is touched.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from trimpoint.git.errors import GitFailed, RestoreFailed
from trimpoint.git.plumbing import staging
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.deadlines import STEP_S
from tests.git.everything import everything
from tests.git.worktrees import (
    captured,
    contents,
    found,
    git,
    kept,
    new_repository,
    store_of,
    write,
)

_PRIVATE = ".git/trimpoint"
_STORE = ".git/trimpoint-checkpoints.git"
# Names that git would remove where it looks for garbage of its own, and that a restore gives.
_PRECIOUS: dict[str, str | bytes] = {
    "letter": "dear",
    "tmp_obj_x": "x",
    "tmp_pack_x": "x",
    "pack-1.pack": "x",
    "0": "x",
    "1.aside": "x",
    "trimpoint/deed": "x",
    ".trimpoint-restore/0": "x",
    f"{'1' * 38}": "x",
    "index": "x",
}
_LINKS = (
    *(_PRIVATE, f"{_PRIVATE}/restore", f"{_PRIVATE}/rescued", f"{_PRIVATE}/refs"),
    f"{_PRIVATE}/info",
    *(_STORE, f"{_STORE}/objects", f"{_STORE}/objects/pack", f"{_STORE}/objects/info"),
    *(f"{_STORE}/objects/17", f"{_STORE}/refs", f"{_STORE}/refs/trimpoint"),
    *(f"{_STORE}/refs/trimpoint/newest", f"{_STORE}/refs/trimpoint/checkpoints"),
    *(f"{_STORE}/refs/trimpoint/checkpoints/t", ".git/worktrees", ".git/worktrees/x"),
)
_FILES = (
    *(f"{_PRIVATE}/{name}" for name in ("lock", "index", "index.lock", "HEAD", "config")),
    *(f"{_PRIVATE}/{name}" for name in ("ignored", "info/exclude", "info/attributes")),
    *(f"{_PRIVATE}/{name}" for name in ("index.revert", "restore/elsewhere", "restore/complete")),
    *(f"{_STORE}/{name}" for name in ("lock", "HEAD", "config", "objects/info/alternates")),
    *(f"{_STORE}/refs/trimpoint/newest/main", ".trimpointignore"),
)


class _Home(NamedTuple):
    documents: Path
    folder: Path


@pytest.fixture
def home(tmp_path: Path) -> _Home:
    """A repository and, beside it, a folder that is none of its business."""
    documents = tmp_path / "Documents"
    write(documents, _PRECIOUS)
    return _Home(documents, new_repository(tmp_path / "tree", {"a": "one", "sub/b": "two"}))


async def _safe(home: _Home) -> None:
    before = contents(home.documents)
    with anyio.fail_after(STEP_S):
        await everything(home.folder)
    assert contents(home.documents) == before


def _in_place(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.each_case(reason="each folder is another way out")
@pytest.mark.parametrize("name", _LINKS)
async def test_a_folder_of_ours_that_is_a_link_leads_nowhere(home: _Home, name: str) -> None:
    _in_place(home.folder, name).symlink_to(home.documents)
    await _safe(home)


@pytest.mark.each_case(reason="each file is another way out")
@pytest.mark.parametrize("name", _FILES)
async def test_a_file_of_ours_that_is_a_link_leads_nowhere(home: _Home, name: str) -> None:
    _in_place(home.folder, name).symlink_to(home.documents / "letter")
    await _safe(home)


@pytest.mark.each_case(reason="each file is read elsewhere")
@pytest.mark.parametrize("name", _FILES)
async def test_a_file_of_ours_that_is_a_pipe_keeps_nobody_waiting(home: _Home, name: str) -> None:
    os.mkfifo(_in_place(home.folder, name))
    await _safe(home)


async def test_settings_and_attributes_in_our_folder_are_never_read(home: _Home) -> None:
    """They need no look before each use, between which and git's another program could come."""
    witness = home.documents / "witness"
    hostile = {
        f"{_PRIVATE}/config": f'[filter "evil"]\n\tclean = touch {witness}; cat\n\trequired\n',
        f"{_PRIVATE}/info/attributes": "* filter=evil\n",
        f"{_PRIVATE}/commondir": ".\n",
    }
    await captured(home.folder)
    write(home.folder, {**hostile, ".gitattributes": "* filter=evil\n", "a": "changed"})
    await captured(home.folder)
    assert {name: (home.folder / name).read_text() for name in hostile} == hostile
    await _safe(home)


async def test_the_persons_patterns_for_all_repositories_are_read_where_git_reads_them(
    home: _Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path, {"xdg/git/ignore": "*.all\n", "mine": "*.mine\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    write(home.folder, {"x.all": "1", "x.mine": "1", "x.own": "1", ".git/info/exclude": "*.own\n"})
    assert await _captured_names(home) == {"a", "sub/b", "x.mine"}
    for named in (str(tmp_path / "mine"), "../mine"):
        git(home.folder, "config", "core.excludesFile", named)
        assert await _captured_names(home) == {"a", "sub/b", "x.all"}
    git(home.folder, "config", "core.excludesFile", str(tmp_path / "nowhere"))
    write(home.folder, {".git/info/exclude": "!*.all\n*.own\n"})
    assert await _captured_names(home) == {"a", "sub/b", "x.all", "x.mine"}


async def _captured_names(home: _Home) -> set[str]:
    tree = (await captured(home.folder)).tree
    listed = kept(home.folder, "ls-tree", "-r", "--name-only", tree)
    return set(listed.decode().split())


_ENTRIES: dict[str, Callable[[_Home], bytes]] = {
    "a folder elsewhere": lambda home: os.fsencode(home.documents),
    "one that is called like ours": lambda home: os.fsencode(home.documents / ".trimpoint-restore"),
    "upwards": lambda home: b"../Documents/.trimpoint-restore",
    "down and up": lambda home: b"sub/../../Documents/.trimpoint-restore",
    "through a link": lambda home: b"link/.trimpoint-restore",
    "a link called like ours": lambda home: b"led/.trimpoint-restore",
    "the absolute path of a link": lambda home: os.fsencode(
        home.folder / "led" / ".trimpoint-restore"
    ),
    "the git directory": lambda home: b".git/.trimpoint-restore",
    "the worktree": lambda home: b"",
    "a file": lambda home: b"a/.trimpoint-restore",
}


@pytest.mark.each_case(reason="each row is another lie")
@pytest.mark.parametrize("complete", [True, False], ids=["complete", "begun"])
@pytest.mark.parametrize("entry", _ENTRIES.values(), ids=_ENTRIES.keys())
async def test_a_list_of_what_a_killed_restore_left_is_believed_only_for_folders_of_ours(
    home: _Home, entry: Callable[[_Home], bytes], complete: bool
) -> None:
    first, before = await captured(home.folder), contents(home.documents)
    write(home.folder, {"a": "three", "mine/.trimpoint-restore/notes": "precious", "led/x": "x"})
    (home.folder / "link").symlink_to(home.documents)
    (home.folder / "led" / ".trimpoint-restore").symlink_to(home.documents)
    write(home.folder / ".git", {".trimpoint-restore/0": "x"})
    listed = entry(home) + b"\0mine/.trimpoint-restore\0"
    write(home.folder, {f"{_PRIVATE}/restore/elsewhere": listed})
    if complete:
        write(home.folder, {f"{_PRIVATE}/restore/complete": ""})
    await _go_to(home.folder, first.commit)
    assert (home.folder / "a").read_text() == "one"
    assert (home.folder / "mine" / ".trimpoint-restore" / "notes").read_text() == "precious"
    assert (home.folder / ".git" / ".trimpoint-restore" / "0").exists()
    assert contents(home.documents) == before


async def test_what_a_killed_restore_left_beside_the_files_is_rescued_and_removed(
    home: _Home,
) -> None:
    first = await captured(home.folder)
    write(home.folder, {"a": "three"})
    left = {"sub/.trimpoint-restore/0": "in no checkpoint", "sub/.trimpoint-restore/1": "two"}
    write(home.folder, left)
    lists = {"elsewhere": f"{home.folder}/sub/.trimpoint-restore\0", "complete": ""}
    write(home.folder / _PRIVATE / "restore", lists)
    await _go_to(home.folder, first.commit)
    assert contents(home.folder).keys() == {b"a", b"sub/b"}
    assert contents(home.folder / _PRIVATE / "rescued") == {b"1-0": ("file", b"in no checkpoint")}


async def test_a_folder_that_is_called_like_ours_and_is_not_is_left_and_said(
    home: _Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging.Staging, "is_home", lambda *_: False)
    first = await captured(home.folder)
    write(home.folder, {"a": "three", ".trimpoint-restore/0": "precious"})
    with pytest.raises(RestoreFailed, match="has files of somebody else in it"):
        await _go_to(home.folder, first.commit)
    assert (home.folder / ".trimpoint-restore" / "0").read_text() == "precious"


async def test_folders_that_others_could_read_are_private_after_a_capture(home: _Home) -> None:
    await captured(home.folder)
    ours = (home.folder / _PRIVATE, store_of(home.folder), store_of(home.folder) / "objects")
    for folder in ours:
        folder.chmod(0o755)
    write(home.folder, {"new": "x"})
    await captured(home.folder)
    assert [folder.stat().st_mode & 0o777 for folder in ours] == [0o700] * 3
    files = [path for path in store_of(home.folder).rglob("*") if path.is_file()]
    assert [path for path in files if path.stat().st_mode & 0o077 and path.name != "lock"] == []


async def test_a_store_that_is_a_link_to_elsewhere_is_refused(home: _Home) -> None:
    store_of(home.folder).symlink_to(home.documents)
    with pytest.raises(GitFailed, match=r"trimpoint-checkpoints\.git cannot be used"):
        await captured(home.folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", [_PRIVATE, _STORE])
async def test_a_folder_of_ours_that_is_another_users_is_refused(home: _Home, name: str) -> None:
    (home.folder / name).mkdir()
    os.chown(home.folder / name, 12345, 12345)
    with pytest.raises(GitFailed, match="belongs to another user"):
        await captured(home.folder)


@pytest.mark.each_case(reason="each tree is another way out")
@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"../letter", b""])
async def test_a_forged_tree_that_leads_out_of_the_worktree_is_refused(
    home: _Home, name: bytes
) -> None:
    first = await captured(home.folder)
    blob = bytes.fromhex(git(home.folder, "rev-parse", "HEAD:a").decode())
    tree = b"100644 " + (name or b"x//y") + b"\0" + blob
    forged = _object(home.folder, "tree", tree)
    commit = _object(home.folder, "commit", _commit_of(home.folder, first.commit, forged))
    repository = await found(home.folder)
    with pytest.raises(GitFailed, match="leads out of the work tree"):
        await plan_restore(repository, present=first.commit, last_seen=first.commit, target=commit)


def _object(folder: Path, kind: str, content: bytes) -> str:
    words = ("hash-object", "-t", kind, "-w", "--literally", "--stdin")
    return git(folder, *words, stdin=content).decode().strip()


def _commit_of(folder: Path, commit: str, tree: str) -> bytes:
    store = f"--git-dir={store_of(folder)}"
    lines = git(folder, store, "cat-file", "commit", commit).split(b"\n", 1)
    return f"tree {tree}\n".encode() + lines[1]


async def _go_to(folder: Path, commit: str) -> None:
    repository, present = await found(folder), (await captured(folder)).commit
    plan = await plan_restore(repository, present=present, last_seen=present, target=commit)
    # Nobody has seen the files before, so the plan would keep them.
    await restore(repository, plan.forced())
