"""Finds the messages that a compaction kept: by id, or by role and text if an item has no known id.
Pure.
"""

from trimpoint.sessionlogs.codex.items import kind_of_message, text_of
from trimpoint.sessionlogs.codex.rows import Item
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.recent import Recent
from trimpoint.sessionlogs.records import Records

# More than any model's window holds, and little enough to keep the memory small at any length of
# a log.
MAX_KNOWN = 32_768
MAX_TEXTS = 8_192
MAX_SAME = 64
# What stands in a long prompt where Codex has cut it while compacting.
CUT_MARKS = ("tokens truncated", "chars truncated")
PREFIX_CHARS = 64


class KnownMessages:
    """The newest messages, by the values that identify them."""

    def __init__(self) -> None:
        self._by_id: Recent[int, int] = Recent(MAX_KNOWN)
        self._by_text: Recent[int, list[int]] = Recent(MAX_TEXTS)

    def add_text(self, index: int, role: str | None, text: str) -> None:
        """Adds a message by its text: a prompt, or a message without an id."""
        self._add_key(_key(role, text), index)
        if len(text) > PREFIX_CHARS:
            self._add_key(_key(role, text[:PREFIX_CHARS]), index)

    def _add_key(self, key: int, index: int) -> None:
        indices = self._by_text.get(key)
        if indices is None:
            indices = [index]
        else:
            indices.append(index)
            del indices[:-MAX_SAME]
        self._by_text.put(key, indices)

    def add_id(self, index: int, item_id: str) -> None:
        """Adds a message by its id."""
        self._by_id.put(hash(item_id), index)

    def matches(self, items: list[Item], records: Records) -> list[int | None]:
        """Returns the index of the live message for each item, None if it is not in the log. The
        second reading knows it from the first one, and needs no message added.
        """
        if records.fates is not None:
            return records.fates.next_matches(len(items))
        found = self._found(items, records.window.live)
        records.window.note_matches(found)
        return found

    def _found(self, items: list[Item], live: Ranges) -> list[int | None]:
        taken: set[int] = set()
        found: list[int | None] = []
        for item in reversed(items):
            index = self._match(item, live, taken)
            if index is not None:
                taken.add(index)
            found.append(index)
        return found[::-1]

    def _match(self, item: Item, live: Ranges, taken: set[int]) -> int | None:
        if item.id is not None:
            index = self._by_id.get(hash(item.id))
            if index is not None and index in live and index not in taken:
                return index
        if item.type != "message" or kind_of_message(item) == "preamble":
            return None
        text = text_of(item.content)
        whole = not any(mark in text for mark in CUT_MARKS)
        key = _key(item.role, text if whole else text[:PREFIX_CHARS])
        candidates = self._by_text.get(key) or []
        return next(
            (index for index in reversed(candidates) if index in live and index not in taken), None
        )


def _key(role: str | None, text: str) -> int:
    return hash((role, text))
