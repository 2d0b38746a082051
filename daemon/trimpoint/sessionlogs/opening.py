"""Opens session files, including compressed ones, up to the size that they had at the first
reading.
"""

import importlib
import io
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimpoint.sessionlogs.text.lines import CHUNK_BYTES, LineSource

COMPRESSED = ".zst"
PLAIN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# More than any level of zstd that Codex uses needs, and little enough for a small daemon.
MAX_ZSTD_WINDOW_BYTES = 32 * 1024 * 1024


class CannotRead(Exception):
    """Raised when a session file cannot be read; the message says why and what to do."""


def shown(path: Path | str) -> str:
    """Returns the name of a file as text; bytes in it that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def found_below(folder: Path, pattern: str) -> list[Path]:
    """Returns what matches a pattern below a folder, sorted; empty if the folder may not be
    read.
    """
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


@contextmanager
def opened(
    path: Path,
    size: int | None = None,
    on_damage: Callable[[], None] | None = None,
    start: int = 0,
) -> Generator[LineSource, None, None]:
    """Yields a session file as a stream of lines.

    :param size: where reading a plain file stops, because it may have grown.
    :param on_damage: called when the rest of a compressed file cannot be decompressed.
    :param start: where reading a plain file begins.
    :raises CannotRead: when it is deleted, or compressed and nothing is installed that can
        decompress it.
    """
    with _raw(path) as raw:
        if path.suffix == COMPRESSED:
            yield io.BufferedReader(_Decompressed(path, raw, on_damage), CHUNK_BYTES)
        else:
            raw.seek(start)
            source = _UpTo(raw, size - start) if size is not None else raw
            yield io.BufferedReader(source, CHUNK_BYTES)


def bytes_of(path: Path, start: int, count: int) -> bytes:
    """Returns a part of a file; a negative start counts from its end. Empty if it is not a plain
    file or cannot be read.
    """
    try:
        fd = os.open(path, PLAIN)
    except OSError:
        return b""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(fd, count, max(0, found.st_size + start) if start < 0 else start)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _raw(path: Path) -> io.FileIO:
    """Opens a regular file; never blocks, because anything else is refused, such as a pipe that has
    no writer.
    """
    try:
        fd = os.open(path, PLAIN)
    except OSError as error:
        raise CannotRead(f"{shown(path)}: {error.strerror}.") from error
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return io.FileIO(fd)
    os.close(fd)
    raise CannotRead(f"{shown(path)} is not a regular file.")


class _UpTo(io.RawIOBase):
    def __init__(self, raw: io.FileIO, size: int) -> None:
        self._raw = raw
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)[: self._left]
        count = self._raw.readinto(view) or 0
        self._left -= count
        return count


class _Decompressed(io.RawIOBase):
    """Decompresses a file; a damaged frame counts as the end of the file."""

    def __init__(self, path: Path, raw: io.FileIO, on_damage: Callable[[], None] | None) -> None:
        stream = _zstd_stream(raw)
        if stream is None:
            raise CannotRead(
                f"{shown(path.name)} is compressed: install trimpoint[zstd] to read it."
            )
        self._stream = stream
        self._on_damage = on_damage

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            return int(self._stream.readinto1(buffer))
        except (_zstd_errors(), EOFError):
            if self._on_damage is not None:
                self._on_damage()
            return 0


def _zstd() -> Any:
    for name in ("zstandard", "compression.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _zstd_errors() -> type[Exception]:
    errors: type[Exception] = _zstd().ZstdError
    return errors


def _zstd_stream(raw: io.FileIO) -> Any:
    module = _zstd()
    if module is None:
        return None
    if module.__name__ == "zstandard":
        decompressor = module.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
        return decompressor.stream_reader(raw, read_across_frames=True, closefd=False)
    limit = MAX_ZSTD_WINDOW_BYTES.bit_length() - 1
    return module.ZstdFile(raw, options={module.DecompressionParameter.window_log_max: limit})


def size_of(path: Path) -> int:
    """Returns the size of a file in bytes, 0 if it does not exist."""
    found = status_of(path)
    return found.st_size if found is not None else 0


def status_of(path: Path) -> os.stat_result | None:
    """Returns the status of a file; None if it does not exist or may not be asked for."""
    try:
        return os.stat(path)
    except OSError:
        return None
