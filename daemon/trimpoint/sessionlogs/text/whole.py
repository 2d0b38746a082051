"""A file that is one JSON object, as older versions of the agents wrote it. Pure."""

MAX_WHOLE_BYTES = 64 * 1024 * 1024


class WholeFile:
    """Collects the lines of such a file, as far as it is small enough to be read."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._bytes = 0

    def add(self, line: bytes) -> None:
        """Takes the next line."""
        self._bytes += len(line)
        if self._bytes <= MAX_WHOLE_BYTES:
            self._lines.append(line)
        else:
            self._lines.clear()

    def content(self) -> bytes | None:
        """Returns the whole file, None if it is too large."""
        return b"".join(self._lines) if self._bytes <= MAX_WHOLE_BYTES else None
