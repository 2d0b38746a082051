"""Reads the contents of blobs, one after the other, from a single git process. Blocking."""

import os
import subprocess
from collections.abc import Iterator
from typing import IO, Self, cast

from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.process import GitRun, git_command, git_environment

_CHUNK_BYTES = 1024 * 1024


class Blobs:
    """Reads blobs from a process of `cat-file --batch`, which `run` describes. Use it as a context
    manager.
    """

    def __init__(self, run: GitRun) -> None:
        self._doing = run.doing
        self._process = subprocess.Popen(
            git_command(run),
            cwd=run.cwd,
            env=git_environment(run.variables, os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read(self, blob: str) -> Iterator[bytes]:
        """Yields the content of a blob in pieces. All pieces must be read before the next call.

        :raises GitFailed: when there is no such blob, or git failed
        """
        size = self._size(blob)
        if size is None:
            raise GitFailed(self._doing, f"the content {blob} is gone from the repository")
        while size:
            chunk = self._stdout.read(min(size, _CHUNK_BYTES))
            if not chunk:
                raise GitFailed(self._doing, "it ended early")
            size -= len(chunk)
            yield chunk
        self._stdout.read(1)

    def holds(self, blob: str) -> bool:
        """Returns whether the repository has the blob.

        :raises GitFailed: when git failed
        """
        size = self._size(blob)
        if size is not None:
            self._skip(size + 1)
        return size is not None

    def _size(self, blob: str) -> int | None:
        try:
            self._stdin.write(f"{blob}\n".encode())
            self._stdin.flush()
        except BrokenPipeError:
            raise GitFailed(self._doing, "it ended early") from None
        words = self._stdout.readline().split()
        return int(words[2]) if words[1:2] == [b"blob"] else None

    def _skip(self, count: int) -> None:
        while count > 0:
            count -= len(self._stdout.read(min(count, _CHUNK_BYTES))) or count
