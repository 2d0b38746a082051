"""The state directory on disk:

<root>/lock                                   locked by the daemon (flock), with its pid as text
<root>/threads/<thread>.journal               one for each thread; the id is percent-encoded
<root>/threads/<thread>.journal.torn-<n>      bytes that were cut off a torn journal
<root>/threads/<thread>.journal.damaged-<n>   a damaged journal whose records were salvaged
<root>/catalogue, snapshots/<thread>          checked files: derived, replaced if damaged
<root>/unfinished                             a checked file: what is under way in running turns
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import ENOENT
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote

from anyio import Lock, to_thread

from trimpoint.journal import framing
from trimpoint.journal.errors import StateDirectoryBusy, StateDirectoryUnsafe
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.file import FileJournal
from trimpoint.journal.storage.file_ops import (
    DIRECTORY_MODE,
    FILE_MODE,
    SYSTEM_FILES,
    FileOperations,
    read_fully,
    write_atomically,
)
from trimpoint.journal.storage.file_storage import refusals
from trimpoint.journal.storage.inspection import inspect
from trimpoint.journal.storage.written_by import newest_version

_SUFFIX = ".journal"
_MAX_STEM_BYTES = 200
_NAME = re.compile(
    r"[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]{0,199}(/[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]{0,199})*"
)
_RESERVED = ("lock", "threads")


def file_stem(thread_id: str) -> str:
    """Returns the thread id percent-encoded, for use in a file name.

    :raises ValueError: when the id is empty or too long for a file name.
    """
    stem = quote(thread_id, safe="")
    if stem.startswith("."):
        stem = "%2E" + stem[1:]
    if not 1 <= len(stem) <= _MAX_STEM_BYTES:
        size = f"{len(stem)} bytes, 1 to {_MAX_STEM_BYTES} are allowed"
        raise ValueError(f"a thread id cannot name a journal: it takes {size}")
    return stem


def snapshot_name(thread_id: str) -> str:
    """Returns the name of the checked file with a thread's snapshot.

    :raises ValueError: when the thread id cannot be a file name.
    """
    return f"snapshots/{file_stem(thread_id)}"


def check_name(name: str) -> None:
    """Checks the name of a checked file.

    :raises ValueError: when the name is not allowed.
    """
    if not _NAME.fullmatch(name) or name.split("/")[0] in _RESERVED:
        raise ValueError(f"{name!r} cannot name a file of the state directory")


class StateDirectory:
    """The implementation of `port.StateStore` on disk. The directory is created when the first file
    is written.
    """

    def __init__(
        self,
        root: Path,
        *,
        files: FileOperations = SYSTEM_FILES,
    ) -> None:
        self.root = root
        self._files = files
        self._replacing = Lock()
        self._lock_fd: int | None = None

    def journal_path(self, thread_id: str) -> Path:
        """Returns the path of a thread's journal.

        :raises ValueError: when the thread id cannot be a file name.
        """
        return self.root / "threads" / f"{file_stem(thread_id)}{_SUFFIX}"

    def prepare(self) -> None:
        """Creates the directory if it does not exist.

        :raises OSError: when it cannot be created.
        :raises StateDirectoryUnsafe: when it belongs to another user or others may write to it.
        """
        _make_directories(self._files, self.root)
        _refuse_if_unsafe(self.root)

    def newest_version(self) -> str | None:
        """Returns what `written_by` has noted."""
        return newest_version(self.root)

    def lock(self) -> AbstractContextManager[None]:
        """Locks the directory for this process until the returned context ends.

        :raises OSError: when the directory cannot be created.
        :raises StateDirectoryUnsafe: when it belongs to another user or others may write to it.
        :raises StateDirectoryBusy: when another process holds the lock.
        """
        self.prepare()
        path = self.root / "lock"
        fd = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(fd)
            os.close(fd)
            raise StateDirectoryBusy(self.root, pid) from None
        try:
            _write_pid(fd, f"{os.getpid()}\n")
        except OSError as error:
            os.close(fd)
            raise OSError(error.errno, error.strerror, str(path)) from None
        self._lock_fd = fd
        return self._held(fd)

    @contextmanager
    def _held(self, fd: int) -> Generator[None]:
        try:
            yield
        finally:
            # The file is not removed: two daemons could then lock two files of the same name.
            self._lock_fd = None
            _write_pid(fd, "")
            os.close(fd)

    def _make_directories(self, path: Path) -> None:
        """Creates the directory `path` below the root.

        If the root was deleted while it was locked, it is not created again, because another daemon
        may lock the new one.

        :raises OSError: when it cannot be created, or the root is no longer the one that was
            locked.
        """
        lock = self.root / "lock"
        if self._lock_fd is not None and not self._files.is_at(lock, self._lock_fd):
            raise FileNotFoundError(
                ENOENT, "the state directory was deleted or replaced", str(lock)
            )
        _make_directories(self._files, path)

    def holder(self) -> int | None:
        """Returns the id of the process that holds the directory, or None. Reads the pid in the
        lock file and does not touch the lock.
        """
        try:
            pid = int((self.root / "lock").read_text())
        except (OSError, ValueError):
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            return pid  # the process belongs to another user
        return pid

    async def scan(self) -> list[tuple[str, int]]:
        return await to_thread.run_sync(self.journals)

    async def open_journal(self, thread_id: str, after: Bookmark | None = None) -> FileJournal:
        path = self.journal_path(thread_id)
        with refusals(path, "making the directory"):
            await to_thread.run_sync(self._make_directories, path.parent)
        return await FileJournal.open(path, after=after, files=self._files)

    async def read_journal(self, thread_id: str) -> Iterator[memoryview]:
        read = partial(inspect, self.journal_path(thread_id), files=self._files)
        return framing.payloads((await to_thread.run_sync(read)).records)

    async def write_atomic(self, name: str, *payload: framing.Buffer) -> None:
        check_name(name)
        # Two writers of one name would share its temporary file.
        async with self._replacing:
            await to_thread.run_sync(self._replace, self.root / name, payload)

    async def read_checked(self, name: str) -> memoryview | None:
        check_name(name)
        return await to_thread.run_sync(self.read, name)

    def journals(self) -> list[tuple[str, int]]:
        """Returns the thread id and the size in bytes of each journal, sorted by thread id.
        Blocking.
        """
        try:
            entries = os.scandir(self.root / "threads")
        except FileNotFoundError:
            return []
        with entries:
            return sorted(
                (
                    unquote(entry.name.removesuffix(_SUFFIX)),
                    entry.stat(follow_symlinks=False).st_size,
                )
                for entry in entries
                if entry.name.endswith(_SUFFIX)
            )

    def _replace(self, path: Path, payload: tuple[framing.Buffer, ...]) -> None:
        with refusals(path, "replacing the file"):
            self._make_directories(path.parent)
            write_atomically(self._files, path, (framing.seal(payload), *payload))

    def read(self, name: str) -> memoryview | None:
        """Returns the content of the checked file `name`, or None if it does not exist, cannot be
        read or is damaged. Blocking.
        """
        check_name(name)
        # The content is derived, so on any error the caller does without it and writes it again.
        with suppress(OSError):
            fd = self._files.open(self.root / name, os.O_RDONLY)
            try:
                return framing.unseal(read_fully(self._files, fd, 0, self._files.size(fd)))
            finally:
                self._files.close(fd)
        return None


def _make_directories(files: FileOperations, path: Path) -> None:
    """Creates a directory and its parents, each with mode 0700 and durable in its parent.
    `mkdir(parents=True)` would create the parents with the umask's mode.
    """
    if path.is_dir():
        return
    _make_directories(files, path.parent)
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    files.sync_directory(path.parent)


def _refuse_if_unsafe(root: Path) -> None:
    found = root.stat()
    if found.st_uid != os.geteuid():
        raise StateDirectoryUnsafe(root, f"belongs to uid {found.st_uid}")
    if found.st_mode & 0o022:
        raise StateDirectoryUnsafe(
            root, f"can be written to by others (mode {found.st_mode & 0o7777:04o})"
        )


def _pid_in(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _write_pid(fd: int, text: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode(), 0)
