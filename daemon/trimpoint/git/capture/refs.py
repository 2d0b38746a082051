"""The refs that keep checkpoints from being deleted by git. They are deleted only on request.

The refs are in the store. Refs that older versions made in the user's repository are listed too
until they are moved to the store.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import anyio
import msgspec

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import read_message
from trimpoint.git.plumbing.process import git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import Commit, ShadowRepository, read_commit
from trimpoint.git.plumbing.store import PREFIX, ref_part, store_answer

_DEADLINE_S = 60.0
_FORMAT = "--format=%(refname) %(objectname) %(committerdate:unix)"


class KeptRef(msgspec.Struct, frozen=True):
    """A ref that keeps a checkpoint. `thread` and `name` are the last two parts of `ref`."""

    ref: str
    commit: str
    captured_at_s: int

    @property
    def thread(self) -> str:
        """Returns the name of the checkpoint's thread in refs."""
        return self.ref.removeprefix(PREFIX).partition("/")[0]

    @property
    def name(self) -> str:
        """Returns the name of the checkpoint within its thread."""
        return self.ref.removeprefix(PREFIX).partition("/")[2]


def checkpoint_ref(thread: str, name: str) -> str:
    """Returns `refs/trimpoint/checkpoints/<thread>/<name>`; characters that git does not allow in
    refs are replaced by `_`.
    """
    return f"{PREFIX}{thread_part(thread)}/{thread_part(name)}"


def thread_part(thread: str) -> str:
    """Returns the name of a thread in refs."""
    return ref_part(thread)


async def keep(repository: Repository, ref: str, commit: str) -> None:
    """Sets `ref` (made by `checkpoint_ref`) to `commit`, without a reflog. An existing ref is
    replaced.

    :raises GitFailed: when the ref cannot be written, or there is no such commit
    """
    await store_answer(
        repository, "update-ref", "--no-deref", _ours(ref), commit, doing="keep a checkpoint"
    )


async def find(repository: Repository, name: str) -> Checkpoint | None:
    """Returns the checkpoint with this ref or commit id, or None if there is none or the commit is
    no checkpoint.

    :raises GitFailed: when git failed
    """
    commit = await _in_store(repository, name) or await _in_users(repository, name)
    return _checkpoint(commit)


async def find_all(repository: Repository, commits: Sequence[str]) -> list[Checkpoint | None]:
    """Returns the checkpoints with these commit ids, in their order, with a single run of git; None
    for each commit that is missing or no checkpoint.

    :raises GitFailed: when git failed
    """
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    run = ShadowRepository(repository, _DEADLINE_S).users(
        "cat-file", "--batch", doing="read checkpoints", stdin=stdin
    )
    answer, found = await git_answer(run), list[Checkpoint | None]()
    for _ in commits:
        header, _, answer = answer.partition(b"\n")
        size = int(header.split(b" ")[2]) if header.count(b" ") == 2 else None
        found.append(
            _checkpoint(read_commit(header + b"\n" + answer[:size])) if size is not None else None
        )
        answer = answer[size + 1 :] if size is not None else answer
    return found


async def list_refs(repository: Repository, thread: str | None = None) -> list[KeptRef]:
    """Returns the refs of all checkpoints of the repository, of every work tree, or only those of
    one thread; sorted by ref.

    :raises GitFailed: when git failed
    """
    under = checkpoint_ref(thread, "_").removesuffix("_") if thread else PREFIX
    ours = await _in_store_listed(repository, under)
    taken = {each.ref for each in ours}
    return sorted(
        [*ours, *(each for each in await users_refs(repository, under) if each.ref not in taken)],
        key=_by_ref,
    )


async def users_refs(repository: Repository, under: str = PREFIX) -> list[KeptRef]:
    """Returns the refs that an older version made in the user's repository.

    :raises GitFailed: when git failed
    """
    return _read(
        await _users(repository, "for-each-ref", _FORMAT, under, doing="list the checkpoints")
    )


async def delete_refs(repository: Repository, refs: Sequence[str]) -> None:
    """Deletes the refs; a missing ref is no error. Their objects stay until `upkeep.collect`.

    :raises GitFailed: when git failed; then none is deleted
    """
    stdin = _deletions(refs)
    if repository.store_dir.is_dir():
        await store_answer(repository, *_DELETE, doing="delete checkpoints", stdin=stdin)
    await delete_users_refs(repository, refs)


async def delete_users_refs(repository: Repository, refs: Iterable[str]) -> None:
    """Deletes those of the refs that are in the user's repository.

    :raises GitFailed: when git failed; then none is deleted
    """
    theirs = {each.ref for each in await users_refs(repository)}
    if found := sorted(theirs.intersection(refs)):
        shadow = ShadowRepository(repository, _DEADLINE_S)
        await shadow.write_users(*_DELETE, doing="delete checkpoints", stdin=_deletions(found))


async def refs_disk_bytes(repository: Repository) -> int:
    """Returns the number of bytes on disk that are used only by checkpoints: the size of the store,
    and in the user's repository the objects that no ref of the user reaches.

    :raises GitFailed: when git failed, or is older than 2.31
    """
    size = await anyio.to_thread.run_sync(_size_of, repository.store_objects)
    if not await users_refs(repository):
        return size
    ours = f"--glob={PREFIX}*"
    arguments = (
        "rev-list",
        "--disk-usage",
        "--objects",
        ours,
        "--not",
        f"--exclude={PREFIX}*",
        "--all",
    )
    theirs = await _users(repository, *arguments, doing="measure the checkpoints")
    return size + int(theirs.decode().strip() or 0)


_DELETE = ("update-ref", "--no-deref", "-z", "--stdin")


def _deletions(refs: Iterable[str]) -> bytes:
    return "".join(f"delete {_ours(ref)}\0\0" for ref in refs).encode()


async def _in_store(repository: Repository, name: str) -> Commit | None:
    if not repository.store_dir.is_dir():
        return None
    stdin = name.encode() + b"\n"
    answer = await store_answer(
        repository, "cat-file", "--batch", doing="read a checkpoint", stdin=stdin, reads_users=True
    )
    return read_commit(answer)


async def _in_users(repository: Repository, name: str) -> Commit | None:
    return read_commit(
        await _users(
            repository,
            "cat-file",
            "--batch",
            doing="read a checkpoint",
            stdin=name.encode() + b"\n",
        )
    )


async def _in_store_listed(repository: Repository, under: str) -> list[KeptRef]:
    if not repository.store_dir.is_dir():
        return []
    return _read(
        await store_answer(repository, "for-each-ref", _FORMAT, under, doing="list the checkpoints")
    )


def _checkpoint(commit: Commit | None) -> Checkpoint | None:
    try:
        return Checkpoint(commit.id, commit.tree, *read_message(commit.message)) if commit else None
    except ValueError:
        return None


def _read(listed: bytes) -> list[KeptRef]:
    lines = (line.split(" ") for line in listed.decode().splitlines())
    return [KeptRef(ref, commit, int(time or 0)) for ref, commit, time in lines]


def _by_ref(kept: KeptRef) -> str:
    return kept.ref


def _size_of(folder: Path) -> int:
    sizes = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                sizes += os.lstat(os.path.join(at, name)).st_size
    return sizes


async def _users(repository: Repository, *arguments: str, doing: str, stdin: bytes = b"") -> bytes:
    return await git_answer(
        ShadowRepository(repository, _DEADLINE_S).users(*arguments, doing=doing, stdin=stdin)
    )


def _ours(ref: str) -> str:
    if not ref.startswith(PREFIX):
        raise ValueError(ref)
    return ref
