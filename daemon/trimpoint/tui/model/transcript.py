"""The loaded part of a thread's timeline, the oldest entry first.

Pages are loaded from the newest to the oldest. The number of loaded entries is limited: after
reading far back, the newest entries are dropped, and loaded again when they are needed.
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
    """The loaded entries. `cursor` loads the page before them, None if there is none. `is_at_end`
    is false after the newest entries were dropped.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self.entries: list[TimelineEntry] = []
        self.cursor: str | None = None
        self.is_at_end = True
        self.is_loaded = False
        self._max_entries = max_entries

    def replace(self, page: TimelinePage) -> None:
        """Replaces all entries by the newest page."""
        self.entries = list(page.entries)
        self.cursor = page.next_cursor
        self.is_at_end = True
        self.is_loaded = True

    def prepend(self, page: TimelinePage) -> int:
        """Inserts the page before the loaded entries; returns its number of entries."""
        self.entries = [*page.entries, *self.entries]
        self.cursor = page.next_cursor
        if len(self.entries) > self._max_entries:
            del self.entries[self._max_entries :]
            self.is_at_end = False
        return len(page.entries)

    def jump(self, page: TimelinePage) -> None:
        """Replaces all entries by a page far before them; one that is not before them is left."""
        if page.entries and self.find(key_of(page.entries[-1])) is None:
            self.entries, self.cursor = list(page.entries), page.next_cursor
            self.is_at_end = False

    def merge(self, page: TimelinePage) -> None:
        """Replaces the end of the entries by the newest page; earlier entries stay.

        If the page and the loaded entries have none in common, the page replaces them all.
        """
        if not self.is_at_end:
            return
        at = self._place_of(page.entries)
        if at is None:
            self.replace(page)
        else:
            self.entries[at:] = page.entries

    def find(self, key: str) -> int | None:
        """Returns the position of an entry; None if it is not loaded."""
        for at in range(len(self.entries) - 1, -1, -1):
            if key_of(self.entries[at]) == key:
                return at
        return None

    def hidden_sections(self) -> set[str]:
        """Returns the ids of the trim points whose pruned entries are hidden."""
        return {
            entry.trim_point_id
            for entry in self.entries
            if isinstance(entry, ContextTrimPointDivider)
            and not entry.expanded
            and entry.hidden_message_count > 0
        }

    def known_keys(self, newest: int) -> set[str]:
        """Returns the keys of the `newest` last entries."""
        return {key_of(entry) for entry in self.entries[-newest:]}

    def _place_of(self, page: Sequence[TimelineEntry]) -> int | None:
        return self.find(key_of(page[0])) if page else None
