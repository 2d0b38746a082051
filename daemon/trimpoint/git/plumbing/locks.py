"""Locks a work tree against other tasks of this daemon and against other daemons."""

import contextlib
import fcntl
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

import anyio

from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.repository import Repository

_POLL_S = 0.05

_locks: WeakValueDictionary[Path, anyio.Lock] = WeakValueDictionary()


@contextlib.asynccontextmanager
async def worktree_lock(repository: Repository, deadline_s: float) -> AsyncGenerator[None]:
    """Locks the work tree until the block ends. The lock is not reentrant.

    :raises GitFailed: when another process holds it until the deadline, or the lock file cannot be
        created
    """
    # Tasks of this daemon wait for each other first, without polling and in order.
    lock = _locks.setdefault(repository.worktree, anyio.Lock())
    try:
        with anyio.fail_after(deadline_s):
            await lock.acquire()
    except TimeoutError:
        raise _busy(deadline_s) from None
    try:
        with (
            await _locked_file(repository.private_dir, fcntl.LOCK_EX, deadline_s),
            await _locked_file(repository.store_dir, fcntl.LOCK_SH, deadline_s),
        ):
            yield
    finally:
        lock.release()


@contextlib.asynccontextmanager
async def store_lock(repository: Repository, deadline_s: float) -> AsyncGenerator[None]:
    """Locks the store exclusively, and with it all worktrees of the repository, until the block
    ends, so that nothing is written while objects are removed.

    :raises GitFailed: when another process holds it until the deadline, or the lock file cannot be
        created
    """
    with await _locked_file(repository.store_dir, fcntl.LOCK_EX, deadline_s):
        yield


async def _locked_file(folder: Path, kind: int, deadline_s: float) -> IO[bytes]:
    try:
        file = await anyio.to_thread.run_sync(_open, folder)
    except OSError as error:
        raise GitFailed(
            "keep checkpoints", f"{folder} cannot be written ({error.strerror})"
        ) from error
    try:
        with anyio.fail_after(deadline_s):
            # There is no event when another process releases the lock, so this polls.
            while not _try_lock(file, kind):  # noqa: ASYNC110
                await anyio.sleep(_POLL_S)
    except BaseException as error:
        file.close()
        if isinstance(error, TimeoutError):
            raise _busy(deadline_s) from None
        raise
    return file


def _open(folder: Path) -> IO[bytes]:
    # Parents are not created: if the git directory was removed, it must not appear again.
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / "lock").open("wb")


def _try_lock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _busy(deadline_s: float) -> GitFailed:
    why = f"another process has held this work tree for {deadline_s:g} seconds"
    return GitFailed("keep checkpoints", why, "Try again later.")
