"""Newline-delimited messages out of chunks cut anywhere."""

MAX_LINE_BYTES = 512 * 1024 * 1024


class LineTooLong(Exception):
    """A line grew past the limit without an end in sight."""

    def __init__(self, max_line_bytes: int) -> None:
        super().__init__(max_line_bytes)
        self.max_line_bytes = max_line_bytes

    def __str__(self) -> str:
        return f"a line of more than {self.max_line_bytes} bytes"


class Traffic:
    """Counts of what was received: whole lines, and bytes."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0


class LineSplitter:
    """Cuts chunks into lines, in time linear in the bytes fed, however many chunks a line spans;
    counts them in `traffic`.
    """

    def __init__(
        self, max_line_bytes: int = MAX_LINE_BYTES, traffic: Traffic | None = None
    ) -> None:
        self._traffic = traffic or Traffic()
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their newlines.

        :raises LineTooLong: what is held back exceeds the limit; the splitter is of no use
            afterwards
        """
        lines = chunk.split(b"\n")
        rest = lines.pop()
        self._traffic.messages += len(lines)
        self._traffic.size_bytes += len(chunk)
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._held_bytes = 0
        if rest:
            self._hold(rest)
        return lines

    def _hold(self, rest: bytes) -> None:
        self._parts.append(rest)
        self._held_bytes += len(rest)
        if self._held_bytes > self._max_line_bytes:
            raise LineTooLong(self._max_line_bytes)
