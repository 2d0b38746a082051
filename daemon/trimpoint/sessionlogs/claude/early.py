"""Puts rows into the order of the conversation that were written in another one. Pure.

Some versions write an answer before the prompt that it answers, or before what is attached to that
prompt (measured: 2.1.80, 2.1.250).
"""

from collections.abc import Container, Iterator
from typing import NamedTuple

from trimpoint.sessionlogs.claude.rows import Row

# A prompt has some ten attachments; what has not come after these will not come.
MAX_ROWS = 16


class Placed(NamedTuple):
    """A row with its id and the number of its line."""

    row: Row
    uuid: str
    line: int


class EarlyAnswers:
    """Holds an answer whose parent is not there yet, and what continues it, until the parent
    comes.
    """

    def __init__(self) -> None:
        self._held: dict[str, Placed] = {}
        self._awaited: str | None = None
        self._passed = 0

    def passes(self, row: Row, known: Container[str]) -> bool:
        """Returns whether a row is in its place, and nothing is held."""
        return not self._held and not _is_early(row, known)

    def ordered(self, placed: Placed, known: Container[str]) -> Iterator[Placed]:
        """Yields the rows that can be read now that this one is there."""
        held, row = self._held, placed.row
        if self.passes(row, known):
            yield placed
        elif not held or row.parent_uuid in held:
            self._hold(placed)
            if len(held) > MAX_ROWS:
                yield from self.rest()
        elif row.subtype == "compact_boundary":
            yield from self.rest()
            yield placed
        else:
            yield placed
            self._passed += 1
            if placed.uuid == self._awaited or self._passed > MAX_ROWS:
                yield from self.rest()

    def _hold(self, placed: Placed) -> None:
        if not self._held:
            self._awaited, self._passed = placed.row.parent_uuid, 0
        self._held.setdefault(placed.uuid, placed)

    def rest(self) -> Iterator[Placed]:
        """Yields the rows that are still held."""
        held = list(self._held.values())
        self._held.clear()
        yield from held


def _is_early(row: Row, known: Container[str]) -> bool:
    return row.type == "assistant" and row.parent_uuid is not None and row.parent_uuid not in known
