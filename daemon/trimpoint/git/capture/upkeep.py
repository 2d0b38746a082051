"""Maintains the store: copies the objects that it borrows, packs loose objects, and removes objects
that no checkpoint needs.

Nothing here is urgent. It runs between turns, and a failure leaves everything unchanged.
"""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import anyio
import structlog

from trimpoint.git.capture.refs import delete_users_refs, users_refs
from trimpoint.git.errors import GitError, GitFailed
from trimpoint.git.plumbing.locks import store_lock
from trimpoint.git.plumbing.own_folders import is_folder
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.store import (
    NEWEST,
    alternates,
    borrow,
    make_store,
    newest_ref,
    store_answer,
)

log = structlog.get_logger()

_DEADLINE_S = 600.0
# The upkeep and another process that uses the store must not wait for each other for long.
_LOCK_DEADLINE_S = 1.0
_COLLECT_LOCK_DEADLINE_S = 60.0
# The number of loose objects is estimated from one of 256 folders, as in git's own upkeep.
_SAMPLE = "17"
_MANY_IN_SAMPLE = 27


async def upkeep(repository: Repository) -> None:
    """Moves checkpoints of older versions from the user's repository to the store, copies the
    objects that the store borrows, and packs loose objects.

    Errors of git or the disk are only logged; the next upkeep tries again.
    """
    try:
        if not await anyio.to_thread.run_sync(_needs_upkeep, repository) and not await users_refs(
            repository
        ):
            return
        async with store_lock(repository, _LOCK_DEADLINE_S):
            await anyio.to_thread.run_sync(_borrow_again, repository)
            await _take_over(repository)
            if alternates(repository).exists():
                await _end_borrowing(repository)
            elif _has_many_loose(repository):
                await _pack(repository, "-d")
    except (GitError, OSError) as error:
        log.info("checkpoint_upkeep_failed", repository=str(repository.worktree), detail=str(error))


async def collect(repository: Repository) -> None:
    """Removes objects from the store that no checkpoint needs.

    :raises GitFailed: when git failed, or another process uses the store; then the objects stay
    """
    if not repository.store_dir.is_dir():
        return
    async with store_lock(repository, _COLLECT_LOCK_DEADLINE_S):
        await anyio.to_thread.run_sync(_borrow_again, repository)
        await _forget_worktrees(repository)
        if alternates(repository).exists():
            await _end_borrowing(repository)
        else:
            await _pack(repository, "-a", "-d")
        await store_answer(
            repository,
            "prune",
            "--expire=now",
            doing="remove old checkpoints",
            deadline_s=_DEADLINE_S,
        )


async def remove_all(repository: Repository) -> list[Path]:
    """Removes everything that the daemon made in the repository: refs, objects, indexes.

    :returns: the folders that stay because they hold files of the user that a restore had saved
    :raises GitFailed: when git failed, or another process uses the store
    """
    await delete_users_refs(repository, [each.ref for each in await users_refs(repository)])
    privates = [git_dir / "trimpoint" for git_dir in _git_dirs(repository)]
    if not repository.store_dir.is_dir() and not any(private.is_dir() for private in privates):
        return []
    async with store_lock(repository, _COLLECT_LOCK_DEADLINE_S):
        return await anyio.to_thread.run_sync(_remove_folders, repository, privates)


async def _take_over(repository: Repository) -> None:
    theirs = await users_refs(repository)
    if not theirs:
        return
    await anyio.to_thread.run_sync(make_store, repository)
    # The store finds the objects by borrowing them at once; `_end_borrowing` then copies them.
    await anyio.to_thread.run_sync(borrow, repository)
    lines = "".join(f"update {each.ref}\0{each.commit}\0\0" for each in theirs)
    arguments = ("update-ref", "--no-deref", "-z", "--stdin")
    await store_answer(repository, *arguments, doing="take over checkpoints", stdin=lines.encode())
    await _end_borrowing(repository)
    await delete_users_refs(repository, [each.ref for each in theirs])


async def _end_borrowing(repository: Repository) -> None:
    """Copies the borrowed objects that are needed, checks that none is missing, and ends the
    borrowing.

    :raises GitFailed: when an object is missing; then the store continues to borrow
    """
    # The search for deltas would be most of the work, and packed objects have deltas already.
    await _pack(repository, "-a", "-d", "--window=0")
    file, aside = alternates(repository), _aside(repository)
    await anyio.to_thread.run_sync(file.replace, aside)
    try:
        arguments = ("rev-list", "--objects", "--all", "--quiet")
        await store_answer(
            repository, *arguments, doing="check the checkpoints", deadline_s=_DEADLINE_S
        )
    except BaseException:
        aside.replace(file)
        raise
    aside.unlink()


async def _pack(repository: Repository, *how: str) -> None:
    arguments = ("-c", "repack.writeBitmaps=false", "repack", "-q", *how)
    await store_answer(repository, *arguments, doing="pack the checkpoints", deadline_s=_DEADLINE_S)


async def _forget_worktrees(repository: Repository) -> None:
    """Deletes the refs of the indexes of worktrees that no longer exist."""
    present = {newest_ref(repository.common_dir, git_dir) for git_dir in _git_dirs(repository)}
    listed = await store_answer(
        repository, "for-each-ref", "--format=%(refname)", NEWEST, doing="list the worktrees"
    )
    gone = set(listed.decode().splitlines()) - present
    lines = "".join(f"delete {ref}\0\0" for ref in sorted(gone))
    arguments = ("update-ref", "--no-deref", "-z", "--stdin")
    await store_answer(repository, *arguments, doing="forget worktrees", stdin=lines.encode())


def _needs_upkeep(repository: Repository) -> bool:
    return (
        alternates(repository).exists()
        or _aside(repository).exists()
        or _has_many_loose(repository)
    )


def _aside(repository: Repository) -> Path:
    return alternates(repository).with_name("alternates.aside")


def _borrow_again(repository: Repository) -> None:
    """Restores the borrowing if a process was killed during the check, which then has not proved
    that no object is missing.
    """
    if _aside(repository).exists():
        _aside(repository).replace(alternates(repository))


def _has_many_loose(repository: Repository) -> bool:
    sample = repository.store_objects / _SAMPLE
    return sample.is_dir() and sum(1 for _ in sample.iterdir()) >= _MANY_IN_SAMPLE


def _git_dirs(repository: Repository) -> Iterator[Path]:
    """Yields the git directories of all worktrees of the repository."""
    yield repository.common_dir
    linked = repository.common_dir / "worktrees"
    if is_folder(linked):
        yield from filter(is_folder, sorted(linked.iterdir()))


def _remove_folders(repository: Repository, privates: list[Path]) -> list[Path]:
    stay: list[Path] = []
    for private in privates:
        rescued = private / "rescued"
        if rescued.is_dir() and any(rescued.iterdir()):
            stay.append(rescued)
            continue
        _remove(private)
    _remove(repository.store_dir)
    if is_folder(repository.common_dir / "refs"):
        with contextlib.suppress(OSError):
            (repository.common_dir / "refs" / "trimpoint").rmdir()
    return stay


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise GitFailed(
            "remove checkpoints", f"{folder} cannot be removed ({error.strerror})"
        ) from error
