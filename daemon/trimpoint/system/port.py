"""What the rest of the program asks of the operating system, where systems differ."""

from typing import Protocol


class System(Protocol):
    """An operating system."""

    max_socket_path_bytes: int
    """How long the path of a Unix socket may be."""

    def open_pidfd(self, pid: int) -> int | None:
        """Returns a descriptor that becomes readable when the process ends, or None where the
        system has none. The caller closes it.

        :raises ProcessLookupError: when there is no such process.
        :raises OSError: when no more descriptors can be opened.
        """
        ...

    def sync_data(self, fd: int) -> None:
        """Waits until what was written to a file would outlive a loss of power.

        :raises OSError: when the disk refuses it.
        """
        ...

    def rename(
        self, source: tuple[int, bytes], target: tuple[int, bytes], *, exchange: bool
    ) -> bool:
        """Moves a file to a path that must not exist, or exchanges two files, in one step. A place
        is the descriptor of a folder and a name in it. Returns False where the system cannot.

        :raises FileExistsError: when `target` exists and is not to be exchanged
        :raises OSError: when the change is refused
        """
        ...
