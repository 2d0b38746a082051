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
from trimpoint.git.errors import GitFailed

from tests.git.worktrees import captured, found, git, new_repository, write


async def test_a_kept_checkpoint_survives_a_collection_and_is_found_by_name(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    write(folder, {"untracked": "precious"})
    repository, checkpoint = await found(folder), await captured(folder, max_file_bytes=7)
    ref = checkpoint_ref("thread", "turn.1")
    await keep(repository, ref, checkpoint.commit)
    git(folder, "gc", "--quiet", "--prune=now")
    assert await find(repository, ref) == checkpoint
    assert await find(repository, checkpoint.commit) == checkpoint
    assert [str(each) for each in checkpoint.left_out] == ["untracked is too large (8 bytes)"]


async def test_find_ignores_objects_that_are_no_checkpoints(tmp_path: Path) -> None:
    repository = await found(new_repository(tmp_path / "tree", {"a": "x"}))
    for name in ("HEAD", "refs/trimpoint/checkpoints/a/b", "0" * 40, "HEAD:a"):
        assert await find(repository, name) is None


async def test_refs_are_listed_by_thread_and_deleted_on_request(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    git(folder, "tag", "theirs")
    repository, checkpoint = await found(folder), await captured(folder)
    names = [("one", "1"), ("one", "2"), ("one2", "1")]
    for thread, name in names:
        await keep(repository, checkpoint_ref(thread, name), checkpoint.commit)
    listed = await list_refs(repository)
    assert [(ref.thread, ref.name) for ref in listed] == names
    assert {ref.commit for ref in listed} == {checkpoint.commit}
    assert [ref.name for ref in await list_refs(repository, "one")] == ["1", "2"]
    await delete_refs(repository, [ref.ref for ref in listed if ref.thread == "one"])
    await delete_refs(repository, [listed[0].ref])
    assert [ref.thread for ref in await list_refs(repository)] == ["one2"]
    assert b"refs/tags/theirs" in git(folder, "for-each-ref")


async def test_only_our_refs_can_be_written_or_deleted(tmp_path: Path) -> None:
    repository = await found(new_repository(tmp_path / "tree", {"a": "x"}))
    for attempt in (
        keep(repository, "refs/heads/main", "HEAD"),
        delete_refs(repository, ["refs/heads/main"]),
    ):
        with pytest.raises(ValueError, match="refs/heads/main"):
            await attempt


async def test_a_commit_that_is_gone_cannot_be_kept(tmp_path: Path) -> None:
    repository = await found(new_repository(tmp_path / "tree", {"a": "x"}))
    with pytest.raises(GitFailed, match="could not keep a checkpoint"):
        await keep(repository, checkpoint_ref("t", "1"), "0" * 39 + "1")


@pytest.mark.parametrize("part", ["..", "a.lock", "a b", "~^:?*[\\", "@{", "", "-", "é", "a/b"])
async def test_any_name_makes_a_ref_that_git_takes(tmp_path: Path, part: str) -> None:
    ref = checkpoint_ref(part, part)
    git(tmp_path, "check-ref-format", ref)
    assert ref.count("/") == 4


async def test_the_size_counts_only_objects_that_no_other_ref_keeps(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x" * 100_000})
    repository = await found(folder)
    assert await refs_disk_bytes(repository) == 0
    await keep(repository, checkpoint_ref("t", "1"), (await captured(folder)).commit)
    small = await refs_disk_bytes(repository)
    assert 0 < small < 1000
    write(folder, {"random": bytes(range(256)) * 10})
    await keep(repository, checkpoint_ref("t", "2"), (await captured(folder)).commit)
    assert await refs_disk_bytes(repository) > small + 256
