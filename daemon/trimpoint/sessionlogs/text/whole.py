"""A file that is one JSON object, as older versions of the agents wrote it. Pure."""

MAX_WHOLE_BYTES = 64 * 1024 * 1024
WHOLE_SUFFIX = ".json"
TOO_LARGE = (
    "is one JSON object, as old versions of the agent wrote sessions, and with more than 64 MiB "
    "too large to be read. Sessions of newer versions may have any size."
)


class WholeFile:
    """Collects the lines of such a file, unless it grows beyond `MAX_WHOLE_BYTES`."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._bytes = 0

    def add(self, line: bytes) -> None:
        """Adds a line."""
        self._bytes += len(line)
        if self._bytes <= MAX_WHOLE_BYTES:
            self._lines.append(line)
        else:
            self._lines.clear()

    def content(self) -> bytes | None:
        """Returns the whole file; None if it is too large."""
        return b"".join(self._lines) if self._bytes <= MAX_WHOLE_BYTES else None
