"""The part of a text that is in sight, where not all of it fits."""

from typing import NamedTuple

from rich.cells import chop_cells


class Window(NamedTuple):
    """The rows in sight: `rows[0]` is row number `first`, counted from 1, of `total`."""

    rows: list[str]
    first: int
    total: int

    @property
    def is_whole(self) -> bool:
        """Returns whether all rows are in sight."""
        return len(self.rows) == self.total


class Reading:
    """Lines, wrapped at any character so that nothing is left out, and the position in them."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._top = 0
        self._rows: tuple[int, list[str]] = (0, [])

    def scroll(self, rows: int) -> None:
        """Moves down by a number of rows, or up if it is negative."""
        self._top += rows

    def window(self, width: int, height: int) -> Window:
        """Returns the rows in sight in an area of this size."""
        if self._rows[0] != width:
            lines = (line.expandtabs() for line in self._lines)
            self._rows = width, [row for line in lines for row in chop_cells(line, width) or [""]]
        rows = self._rows[1]
        self._top = max(0, min(self._top, len(rows) - height))
        return Window(rows[self._top : self._top + height], self._top + 1, len(rows))
