"""Computes the scroll bar of the conversation: where one is in the whole thread, of which only a
part is loaded.
"""

from typing import NamedTuple


class ScrollBar(NamedTuple):
    """A bar of so many lines, beside a thread with so many rows."""

    lines: int
    rows: int

    def thumb(self, first: float, last: float) -> range:
        """Returns the lines of the thumb, where the rows from `first` to `last` are in sight."""
        scale = self.lines / max(1, self.rows)
        begin = min(int(first * scale), self.lines - 1)
        return range(begin, max(begin + 1, round(last * scale)))

    def row_at(self, line: int) -> int | None:
        """Returns the row that is meant by a line of the bar; None for the end of the thread."""
        if line >= self.lines - 1:
            return None
        return max(0, line) * self.rows // max(1, self.lines - 1)
