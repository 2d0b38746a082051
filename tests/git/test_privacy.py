"""Checkpoints stay in this repository, survive the user's maintenance, and leave nothing behind
when they are removed.
"""

from pathlib import Path

import pytest
from trimpoint.git.capture.refs import (
    checkpoint_ref,
    delete_refs,
    find,
    keep,
    list_refs,
    refs_disk_bytes,
)
from trimpoint.git.capture.upkeep import collect, remove_all, upkeep
from trimpoint.git.plumbing.process import git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository
from trimpoint.git.plumbing.store import alternates, borrow
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import (
    captured,
    contents,
    found,
    git,
    kept,
    new_repository,
    store_of,
    users_side,
    write,
)


async def _kept(folder: Path, name: str, thread: str = "thread") -> str:
    repository, checkpoint = await found(folder), await captured(folder)
    await keep(repository, checkpoint_ref(thread, name), checkpoint.commit)
    return checkpoint.commit


async def _go_to(folder: Path, commit: str) -> None:
    repository, present = await found(folder), (await captured(folder)).commit
    await restore(
        repository,
        await plan_restore(repository, present=present, last_seen=present, target=commit),
    )


async def _as_earlier_versions_did(folder: Path, name: str) -> str:
    """Makes a checkpoint whose ref and objects are in the user's repository."""
    repository = await found(folder)
    commit = await _kept(folder, name)
    objects = repository.objects_dir
    for source in repository.store_objects.rglob("*"):
        target = objects / source.relative_to(repository.store_objects)
        if source.is_file() and source.parent.name != "info" and not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(source.read_bytes())
    await git_answer(
        ShadowRepository(repository, 20).users(
            "update-ref", checkpoint_ref("thread", name), commit, doing="keep"
        )
    )
    await delete_from_store(repository, name)
    return commit


async def delete_from_store(repository: Repository, name: str) -> None:
    kept(repository.worktree, "update-ref", "-d", checkpoint_ref("thread", name))


async def test_checkpoints_do_not_show_and_do_not_travel(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    before = users_side(folder)
    write(folder, {"secret": "marked-words"})
    commit = await _kept(folder, "1")
    (folder / "secret").unlink()
    assert users_side(folder) == before
    assert git(folder, "log", "--all", "--reflog", "--oneline").count(b"\n") == 1
    git(tmp_path, "init", "--quiet", "--bare", "pushed.git")
    git(folder, "push", "--quiet", "--mirror", str(tmp_path / "pushed.git"))
    git(tmp_path, "clone", "--quiet", "--mirror", str(folder), "cloned.git")
    for other in ("pushed.git", "cloned.git"):
        assert b"trimpoint" not in git(tmp_path / other, "for-each-ref")
        with pytest.raises(Exception, match="cat-file"):
            git(tmp_path / other, "cat-file", "-e", commit)
    assert git(folder, "cat-file", "-e", commit, check=False) == b""
    assert git(folder, "count-objects") == b"3 objects, 12 kilobytes\n"


async def test_the_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    await _kept(folder, "1")
    assert store_of(folder).stat().st_mode & 0o777 == 0o700


async def test_a_checkpoint_survives_the_users_own_git_gc(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"a": "committed", "b": "committed too"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "second")
    copy = contents(folder)
    commit = await _kept(folder, "1")
    assert alternates(await found(folder)).exists()
    await upkeep(await found(folder))
    assert not alternates(await found(folder)).exists()
    git(folder, "reset", "--quiet", "--hard", "HEAD~1")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "--quiet", "--prune=now")
    await _go_to(folder, commit)
    assert contents(folder) == copy


async def test_upkeep_leaves_the_user_alone_and_packs_what_is_loose(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {f"f{number}": str(number) for number in range(20)})
    repository = await found(folder)
    await _kept(folder, "1")
    await upkeep(repository)
    sample = repository.store_objects / "17"
    sample.mkdir(exist_ok=True)
    for number in range(30):
        (sample / f"{number:038x}").write_bytes(b"")
    write(folder, {"new": "y"})
    before = users_side(folder)
    commit = await _kept(folder, "2")
    for path in sample.iterdir():
        if path.stat().st_size == 0:
            path.unlink()
            (sample / f"tmp_obj_{path.name}").touch()
    await upkeep(repository)
    assert users_side(folder) == before
    assert kept(folder, "cat-file", "-t", commit) == b"commit\n"
    assert len(list((repository.store_objects / "pack").glob("*.pack"))) == 2


async def test_checkpoints_of_earlier_versions_are_read_where_they_are_and_taken_over(
    tmp_path: Path,
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"a": "one", "untracked": "1"})
    copy = contents(folder)
    old = await _as_earlier_versions_did(folder, "old")
    write(folder, {"a": "two", "untracked": "2"})
    repository = await found(folder)
    await _kept(folder, "new")
    assert {each.name for each in await list_refs(repository)} == {"old", "new"}
    await _go_to(folder, old)
    assert contents(folder) == copy
    write(folder, {"a": "three"})
    await upkeep(repository)
    assert b"trimpoint" not in git(folder, "for-each-ref")
    git(folder, "gc", "--quiet", "--prune=now")
    assert {each.name for each in await list_refs(repository)} == {"old", "new"}
    await _go_to(folder, old)
    assert contents(folder) == copy


async def test_a_checkpoint_that_cannot_be_copied_stays_in_the_users_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"untracked": "1"})
    await _as_earlier_versions_did(folder, "old")
    repository = await found(folder)
    blob = git(folder, "hash-object", "untracked").decode().strip()
    for objects in (repository.objects_dir, repository.store_objects):
        (objects / blob[:2] / blob[2:]).unlink(missing_ok=True)
    await upkeep(repository)
    assert b"refs/trimpoint/checkpoints/thread/old" in git(folder, "for-each-ref")
    assert alternates(repository).exists()


async def test_a_look_that_was_broken_off_is_taken_again(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    await _kept(folder, "1")
    repository = await found(folder)
    alternates(repository).rename(alternates(repository).with_name("alternates.aside"))
    await upkeep(repository)
    assert list((repository.store_objects / "info").glob("alternates*")) == []
    kept(folder, "fsck", "--full", "--strict")


async def test_deleted_checkpoints_free_disk_space(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository = await found(folder)
    await _kept(folder, "1")
    await collect(repository)
    small = await refs_disk_bytes(repository)
    write(folder, {"large": "".join(str(number) for number in range(100_000))})
    await _kept(folder, "2")
    (folder / "large").unlink()
    await _kept(folder, "3")
    assert await refs_disk_bytes(repository) > small + 50_000
    await delete_refs(repository, [checkpoint_ref("thread", "2")])
    await collect(repository)
    assert await refs_disk_bytes(repository) < small + 5_000
    assert [each.name for each in await list_refs(repository)] == ["1", "3"]
    write(folder, {"b": "y"})
    await _kept(folder, "4")
    kept(folder, "fsck", "--full", "--strict")


async def test_objects_that_another_worktree_needs_are_not_collected(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    linked = tmp_path / "linked"
    git(folder, "worktree", "add", "--quiet", str(linked))
    write(linked, {"untracked": "precious"})
    await captured(linked)
    await _kept(folder, "1")
    await collect(await found(folder))
    write(linked, {"b": "y"})
    commit = (await captured(linked)).commit
    assert kept(folder, "cat-file", "blob", f"{commit}:untracked") == b"precious"
    git(folder, "worktree", "remove", "--force", str(linked))
    await collect(await found(folder))
    assert kept(folder, "cat-file", "-e", commit, check=False) == b""
    assert b"worktree-linked" not in kept(folder, "for-each-ref")


async def test_checkpoints_of_a_work_tree_that_is_gone_stay(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    linked = tmp_path / "linked"
    git(folder, "worktree", "add", "--quiet", str(linked))
    write(linked, {"untracked": "precious"})
    commit = await _kept(linked, "1")
    git(folder, "worktree", "remove", "--force", str(linked))
    assert await find(await found(folder), commit) is not None


async def test_everything_of_ours_can_be_removed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    await _kept(tmp_path / "linked", "1")
    await _as_earlier_versions_did(folder, "old")
    repository = await found(folder)
    assert await remove_all(repository) == []
    assert await list_refs(repository) == []
    assert list((folder / ".git").rglob("*trimpoint*")) == []
    assert (
        git(folder, "status", "--porcelain")
        == git(tmp_path / "linked", "status", "--porcelain")
        == b""
    )
    assert await remove_all(repository) == []
    await _kept(folder, "again")


async def test_files_that_a_restore_had_saved_are_not_removed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    await _kept(folder, "1")
    repository = await found(folder)
    write(repository.private_dir / "rescued", {"1-5": "somebody's words"})
    assert await remove_all(repository) == [repository.private_dir / "rescued"]
    assert (repository.private_dir / "rescued" / "1-5").read_text() == "somebody's words"


async def test_folders_with_odd_names_lend_their_objects(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / 'a:b "c" \\d' / "tree", {"a": "x"})
    commit = await _kept(folder, "1")
    repository = await found(folder)
    assert await find(repository, commit) is not None
    write(folder, {"a": "y"})
    await _go_to(folder, commit)
    assert (folder / "a").read_text() == "x"
    await upkeep(repository)
    borrow(repository)
    await upkeep(repository)
    assert not alternates(repository).exists()
