"""Pages of session logs, without reading a log from its beginning for each page.

Always true: a page equals what reading from the beginning would give. A paused reading is resumed
only at the record where it stopped, and only while the files are unchanged.
"""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from threading import Lock
from typing import NamedTuple

from trimpoint.sessionlogs.overviews import FileKey, key_of
from trimpoint.sessionlogs.sessions import FoundSession

# Each paused reading keeps its files open and its reader in memory.
MAX_PAUSED = 4


class Place(NamedTuple):
    """The place where a page begins: the files, the session, and the number of records before the
    page.
    """

    keys: tuple[FileKey, ...]
    session_id: str
    include_compacted: bool
    start: int


class Page(NamedTuple):
    """The encoded records of a page, and whether more records follow."""

    lines: list[bytes]
    more: bool


class SessionPages:
    """Reads pages of sessions, and keeps the newest readings paused for the next page."""

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
        """Returns the page that begins at `place`.

        :param read: begins a reading from the first record.
        :param limit: the greatest number of records.
        :param max_bytes: the greatest size, but a page has at least one record.
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
    """Returns the place after `start` records of a session."""
    keys = tuple(key_of(path) for path, _ in found.parts)
    return Place(keys, found.id, include_compacted, start)
