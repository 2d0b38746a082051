"""Locks a work tree against other tasks of this daemon and against other daemons."""

import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

import anyio

from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.own_folders import claim_folders
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.store import hide, make_store, unusable

_POLL_S = 0.05
# Without blocking, in case it is a pipe.
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

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
            await _locked_file(repository, repository.private_dir, fcntl.LOCK_EX, deadline_s),
            await _locked_file(repository, repository.store_dir, fcntl.LOCK_SH, deadline_s),
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
    with await _locked_file(repository, repository.store_dir, fcntl.LOCK_EX, deadline_s):
        yield


async def _locked_file(
    repository: Repository, folder: Path, kind: int, deadline_s: float
) -> IO[bytes]:
    try:
        file = await anyio.to_thread.run_sync(_open, repository, folder)
    except OSError as error:
        raise unusable(error, folder) from error
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


def _open(repository: Repository, folder: Path) -> IO[bytes]:
    if folder == repository.store_dir:
        make_store(repository)
    else:
        # Older versions made `info/exclude` a link to the user's own file; it is replaced.
        claim_folders(folder, ("refs", "info"), links_replaced=("exclude",))
        hide(folder)
    return os.fdopen(os.open(folder / "lock", _LOCK_FILE, 0o600), "wb")


def _try_lock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _busy(deadline_s: float) -> GitFailed:
    why = f"another process has held this work tree for {deadline_s:g} seconds"
    return GitFailed("keep checkpoints", why, "Try again later.")
