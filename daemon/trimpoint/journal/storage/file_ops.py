"""The calls of the journal to the operating system. Tests inject faults by replacing them.

Every method blocks and may raise `OSError`; none is called from the event loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from trimpoint.system import SYSTEM

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
# Joining a whole large file at once would block the event loop's thread during the copy.
PIECE_BYTES = 1 << 20


class FileOperations(Protocol):
    """The file operations of the journal. Reads and writes take explicit positions, so that a
    failed call leaves no unknown file position.
    """

    def open(self, path: Path, flags: int) -> int: ...

    def close(self, fd: int) -> None: ...

    def size(self, fd: int) -> int: ...

    def read(self, fd: int, size_bytes: int, offset_bytes: int) -> bytes: ...

    def write(self, fd: int, data: memoryview, offset_bytes: int) -> int:
        """Writes at most `data` and returns the number of bytes written, which may be less."""
        ...

    def datasync(self, fd: int) -> None: ...

    def truncate(self, fd: int, size_bytes: int) -> None: ...

    def is_at(self, path: Path, fd: int) -> bool:
        """Returns whether `path` is the open file; False if it was deleted or replaced by another
        file.
        """
        ...

    def exists(self, path: Path) -> bool: ...

    def replace(self, source: Path, target: Path) -> None: ...

    def sync_directory(self, path: Path) -> None: ...


class SystemFiles:
    """The file operations of the operating system. New files have at most mode 0600, whatever the
    umask is.
    """

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags, FILE_MODE)

    def close(self, fd: int) -> None:
        os.close(fd)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def read(self, fd: int, size_bytes: int, offset_bytes: int) -> bytes:
        return os.pread(fd, size_bytes, offset_bytes)

    def write(self, fd: int, data: memoryview, offset_bytes: int) -> int:
        return os.pwrite(fd, data, offset_bytes)

    def datasync(self, fd: int) -> None:
        SYSTEM.sync_data(fd)

    def truncate(self, fd: int, size_bytes: int) -> None:
        os.ftruncate(fd, size_bytes)

    def is_at(self, path: Path, fd: int) -> bool:
        try:
            return os.path.samestat(os.stat(path), os.fstat(fd))
        except FileNotFoundError:
            return False

    def exists(self, path: Path) -> bool:
        return path.exists()

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def sync_directory(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            SYSTEM.sync_folder(fd)
        finally:
            os.close(fd)


SYSTEM_FILES = SystemFiles()


def write_fully(
    files: FileOperations, fd: int, data: bytes | memoryview, offset_bytes: int
) -> None:
    """Writes all of `data`, with as many calls as needed."""
    view = memoryview(data)
    while view:
        written = files.write(fd, view, offset_bytes)
        view = view[written:]
        offset_bytes += written


def read_fully(files: FileOperations, fd: int, offset_bytes: int, end_bytes: int) -> bytes:
    """Returns the bytes from `offset_bytes` up to `end_bytes` or the end of the file."""
    chunks: list[bytes] = []
    # One pread returns at most about 2 GiB on Linux.
    while offset_bytes < end_bytes and (
        chunk := files.read(fd, end_bytes - offset_bytes, offset_bytes)
    ):
        chunks.append(chunk)
        offset_bytes += len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def write_atomically(
    files: FileOperations, target: Path, content: Iterable[bytes | memoryview]
) -> None:
    """Replaces `target` with the concatenated `content`, durably. After a crash it has either the
    new or the old content.
    """
    # The name is fixed, so that the file of an earlier failed attempt is overwritten.
    temporary = target.with_name(f".{target.name}.tmp")
    fd = files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        offset_bytes = 0
        for part in _in_large_pieces(content):
            write_fully(files, fd, part, offset_bytes)
            offset_bytes += len(part)
        files.datasync(fd)
    finally:
        files.close(fd)
    files.replace(temporary, target)
    files.sync_directory(target.parent)


def _in_large_pieces(content: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    gathered, size = list[bytes | memoryview](), 0
    for part in content:
        gathered.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


def free_name(files: FileOperations, path: Path, what: str) -> Path:
    """Returns an unused path beside `path`: `<name>.<what>-<n>`."""
    number = 1
    while files.exists(candidate := path.with_name(f"{path.name}.{what}-{number}")):
        number += 1
    return candidate
