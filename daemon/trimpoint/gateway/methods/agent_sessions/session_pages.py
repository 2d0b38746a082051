"""Pages of sessions of other agents, without reading a log from its beginning for each page.

What must always be true: a page is what reading from the beginning would give. A reading is gone on
with only at the place where it stopped, and only while the files are as they were.
"""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from threading import Lock
from typing import NamedTuple

from trimpoint.sessionlogs.overviews import FileKey, key_of
from trimpoint.sessionlogs.sessions import FoundSession

# Each holds its files open and what its reader remembers.
MAX_PAUSED = 4


class Place(NamedTuple):
    """Where a page begins: in which files, with which messages, behind how many records."""

    keys: tuple[FileKey, ...]
    session_id: str
    include_compacted: bool
    start: int


class Page(NamedTuple):
    """The records of a page as they were encoded, and whether others follow."""

    lines: list[bytes]
    more: bool


class SessionPages:
    """Reads pages, and remembers where the newest ones ended."""

    def __init__(self) -> None:
        self._paused: dict[Place, Iterator[bytes]] = {}
        self._lock = Lock()

    def page(
        self,
        place: Place,
        read: Callable[[], Iterator[bytes]],
        *,
        limit: int,
        max_bytes: int,
    ) -> Page:
        """Returns a page.

        :param read: begins a reading.
        :param max_bytes: it has no more than this, but at least one record.
        """
        lines = self._at(place) or islice(read(), place.start, None)
        taken: list[bytes] = []
        for line in lines:
            if taken and (len(taken) == limit or len(line) > max_bytes):
                self._pause(place._replace(start=place.start + len(taken)), chain([line], lines))
                return Page(taken, more=True)
            max_bytes -= len(line)
            taken.append(line)
        return Page(taken, more=False)

    def _at(self, place: Place) -> Iterator[bytes] | None:
        with self._lock:
            return self._paused.pop(place, None)

    def _pause(self, place: Place, lines: Iterator[bytes]) -> None:
        with self._lock:
            self._paused[place] = lines
            while len(self._paused) > MAX_PAUSED:
                del self._paused[next(iter(self._paused))]


def place_in(found: FoundSession, *, include_compacted: bool, start: int) -> Place:
    """Returns the place behind so many records of a session."""
    keys = tuple(key_of(path) for path, _ in found.parts)
    return Place(keys, found.id, include_compacted, start)
