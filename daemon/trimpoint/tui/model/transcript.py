"""The loaded part of a thread's timeline, the oldest entry first.

It is one piece. It grows by pages at both ends, or another piece takes its place. The number of
loaded entries is limited: those that are farthest from where one reads are dropped.
"""

from collections.abc import Sequence
from typing import assert_never

from trimpoint_protocol.methods import TimelinePage
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

MAX_ENTRIES = 20_000


def key_of(entry: TimelineEntry) -> str:
    """Returns a key that is unique among the entries of a thread."""
    match entry:
        case TimelineMessage() | TimelineActivity():
            return f"{entry.turn_id}/{entry.id}"
        case ContextSummaryBanner():
            return f"banner {entry.trim_point_id}"
        case ContextTrimPointDivider():
            return f"divider {entry.trim_point_id}"
        case _:
            assert_never(entry)


class Transcript:
    """The loaded entries. `first` is the place of the first one among all `count` that the thread
    shows; an older daemon does not say them. `cursor` loads the page before them, `is_at_end` says
    whether the newest ones are loaded.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self.entries: list[TimelineEntry] = []
        self.cursor: str | None = None
        self.first = self.count = 0
        self.is_at_end = True
        self.is_loaded = False
        self._max_entries = max_entries

    @property
    def end(self) -> int:
        """Returns the place behind the last loaded entry."""
        return self.first + len(self.entries)

    @property
    def has_older(self) -> bool:
        """Returns whether there are entries before the loaded ones."""
        return self.first > 0 or self.cursor is not None

    def replace(self, page: TimelinePage, *, is_newest: bool = True) -> None:
        """Replaces all entries by the newest page, or by another one."""
        self.entries, self.cursor = list(page.entries), page.next_cursor
        self.first, self.count = page.first_entry, page.entry_count
        self.is_at_end = is_newest or 0 < self.count <= self.end
        self.is_loaded = True

    def prepend(self, page: TimelinePage) -> int:
        """Inserts the page before the loaded entries; returns its number of entries."""
        self.entries = [*page.entries, *self.entries]
        self.first, self.cursor = page.first_entry, page.next_cursor
        if len(self.entries) > self._max_entries:
            del self.entries[self._max_entries :]
            self.is_at_end = False
        return len(page.entries)

    def append(self, page: TimelinePage) -> bool:
        """Adds what a page has behind the loaded entries; returns whether it follows on them."""
        if not page.first_entry <= self.end <= page.first_entry + len(page.entries):
            return False
        self.entries = [*self.entries, *page.entries[self.end - page.first_entry :]]
        dropped = max(0, len(self.entries) - self._max_entries)
        del self.entries[:dropped]
        self.first, self.count = self.first + dropped, page.entry_count
        self.cursor = self.cursor if dropped == 0 else None
        self.is_at_end = self.end >= self.count
        return True

    def merge(self, page: TimelinePage) -> None:
        """Replaces the end of the entries by the newest page; earlier entries stay.

        If the page and the loaded entries have none in common, the page replaces them all.
        """
        if not self.is_at_end:
            self.count = max(self.count, page.entry_count)
            return
        at = self._place_of(page.entries)
        if at is None:
            self.replace(page)
        else:
            self.entries[at:] = page.entries
            self.first, self.count = page.first_entry - at, page.entry_count

    def find(self, key: str) -> int | None:
        """Returns the position of an entry; None if it is not loaded."""
        for at in range(len(self.entries) - 1, -1, -1):
            if key_of(self.entries[at]) == key:
                return at
        return None

    def hidden_before(self, place: int) -> str | None:
        """Returns the id of the trim point that stands next before a place of the thread, if its
        pruned entries are hidden. One that pruned nothing, as an edited summary, is passed over.
        """
        for entry in reversed(self.entries[: max(0, place - self.first)]):
            if isinstance(entry, ContextTrimPointDivider) and entry.trim_kind == "boundary":
                if entry.expanded:
                    return None
                if entry.hidden_message_count > 0:
                    return entry.trim_point_id
        return None

    def known_keys(self, newest: int) -> set[str]:
        """Returns the keys of the `newest` last entries."""
        return {key_of(entry) for entry in self.entries[-newest:]}

    def _place_of(self, page: Sequence[TimelineEntry]) -> int | None:
        return self.find(key_of(page[0])) if page else None
