"""A system of which only POSIX is known: nothing optional is there."""

import os


class Posix:
    """Does without what POSIX does not have."""

    max_socket_path_bytes = 103

    def open_pidfd(self, pid: int) -> int | None:
        return None

    def sync_data(self, fd: int) -> None:
        os.fsync(fd)

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        return False
