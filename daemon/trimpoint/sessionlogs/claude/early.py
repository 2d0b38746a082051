"""Puts rows into the order of the conversation that were written in another one. Pure.

Some versions write an answer before the prompt that it answers (measured: 2.1.80).
"""

from collections.abc import Container, Iterator
from typing import NamedTuple

from trimpoint.sessionlogs.claude.rows import Row


class Placed(NamedTuple):
    """A row with its id and the number of its line."""

    row: Row
    uuid: str
    line: int


class EarlyAnswers:
    """Holds answers whose prompt is not there yet, until the next row is known."""

    def __init__(self) -> None:
        self._held: list[Placed] = []

    def ordered(self, placed: Placed, known: Container[str]) -> Iterator[Placed]:
        """Yields the rows that can be read now that this one is there."""
        held = self._held
        if placed.row.type == "assistant" and self._is_early(placed.row, known):
            held.append(placed)
            return
        if held and placed.uuid != held[0].row.parent_uuid:
            yield from self.rest()
        yield placed
        yield from self.rest()

    def rest(self) -> Iterator[Placed]:
        """Yields the rows that are still held."""
        held, self._held = self._held, []
        yield from held

    def _is_early(self, row: Row, known: Container[str]) -> bool:
        parent = row.parent_uuid
        if parent is None or parent in known:
            return False
        return not self._held or parent == self._held[-1].uuid
