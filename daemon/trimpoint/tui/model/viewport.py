"""Computes which lines of a long list of rows are visible.

The position is stored as a row and a line within it. Only rows near it are measured, so the cost
does not depend on the number of rows.
"""

from typing import NamedTuple, Protocol


class Rows(Protocol):
    """Rows whose height can be measured. Measuring a row may lay it out."""

    def __len__(self) -> int: ...

    def height(self, row: int) -> int:
        """Returns the number of lines of a row, at least 1."""
        ...


class Line(NamedTuple):
    """A line of a row."""

    row: int
    line: int


class Viewport:
    """The visible part. While `follows` is true it stays at the end when rows are added."""

    def __init__(self) -> None:
        self.top = Line(0, 0)
        self.follows = True

    def visible(self, rows: Rows, screen: int) -> list[Line]:
        """Returns the visible lines from the top; fewer than `screen` if there are not enough."""
        if not self.follows:
            lines = self._down_from_top(rows, screen)
            if len(lines) == screen:
                return lines
            self.follows = True
        self.top = self._top_of_end(rows, screen)
        return self._down_from_top(rows, screen)

    def scroll(self, rows: Rows, screen: int, lines: int) -> None:
        """Scrolls by `lines`, up if negative, and stops at the ends."""
        self.visible(rows, screen)  # the top may be of an earlier width
        self.top = self._up(rows, -lines) if lines < 0 else self._down(rows, lines)
        end = self._top_of_end(rows, screen)
        self.follows = self.top >= end
        self.top = min(self.top, end)

    def to_end(self) -> None:
        """Scrolls to the end and follows it."""
        self.follows = True

    def show(self, rows: Rows, screen: int, row: int) -> None:
        """Scrolls as little as possible to make a row visible, at least its first line."""
        visible = self.visible(rows, screen)
        if not visible or row < visible[0].row or (row == visible[0].row and visible[0].line > 0):
            self.top, self.follows = Line(row, 0), False
        elif row > visible[-1].row or (row, rows.height(row) - 1) > visible[-1]:
            self.top = self._up_from(rows, Line(row, rows.height(row) - 1), screen - 1)
            self.top = min(self.top, Line(row, 0))
            self.follows = self.top >= self._top_of_end(rows, screen)

    def shift(self, rows: int) -> None:
        """Keeps the visible lines after `rows` rows were inserted before all others."""
        self.top = Line(self.top.row + rows, self.top.line)

    def _down_from_top(self, rows: Rows, screen: int) -> list[Line]:
        lines: list[Line] = []
        row, line = self.top
        while row < len(rows) and len(lines) < screen:
            height = rows.height(row)
            lines += [Line(row, at) for at in range(line, height)][: screen - len(lines)]
            row, line = row + 1, 0
        return lines

    def _top_of_end(self, rows: Rows, screen: int) -> Line:
        if len(rows) == 0:
            return Line(0, 0)
        last = len(rows) - 1
        return self._up_from(rows, Line(last, rows.height(last) - 1), screen - 1)

    def _up(self, rows: Rows, lines: int) -> Line:
        return self._up_from(rows, self.top, lines)

    def _up_from(self, rows: Rows, place: Line, lines: int) -> Line:
        row, line = place.row, place.line - lines
        while line < 0 and row > 0:
            row -= 1
            line += rows.height(row)
        return Line(row, max(0, line))

    def _down(self, rows: Rows, lines: int) -> Line:
        row, line = self.top.row, self.top.line + lines
        while row < len(rows) - 1 and line >= rows.height(row):
            line -= rows.height(row)
            row += 1
        return Line(row, line)
