"""One at a time on a work tree, among our own tasks and other daemons alike."""

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
    """Holds the work tree. Its holder must not ask for it again.

    :raises GitFailed: another process holds it until the deadline, or the lock file cannot be
        made
    """
    # Our own tasks first: they wait without polling, and in their order.
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
    """Hold the store and so all worktrees of the repository: nothing is written while something is
    removed.

    :raises GitFailed: another process holds it until the deadline, or the lock file cannot be
        made
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
            # There is no event for a lock that another process releases.
            while not _try_lock(file, kind):  # noqa: ASYNC110
                await anyio.sleep(_POLL_S)
    except BaseException as error:
        file.close()
        if isinstance(error, TimeoutError):
            raise _busy(deadline_s) from None
        raise
    return file


def _open(folder: Path) -> IO[bytes]:
    # Not its parents: where there is no git directory any more, none is to appear.
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
