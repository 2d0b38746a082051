"""The items of the model's next input, with marks for those to discard."""

from collections.abc import Sequence
from typing import NamedTuple

from trimpoint_protocol.methods import ContextInspection, ContextMessageList, InspectedItem


class Share(NamedTuple):
    """A part of the bar: a class of items and its width in cells."""

    item_class: str
    cells: int


class Inspection:
    """The items and the marks. `chosen` is a position among the items. Items that can only be
    discarded together are marked together.
    """

    def __init__(self, found: ContextInspection, held: ContextMessageList) -> None:
        self.found = found
        self.chosen = max(0, len(found.items) - 1)
        self.marked: set[str] = set()
        self._messages = {message.short_id: message for message in held.messages}
        self._refusal = held.refusal

    @property
    def item(self) -> InspectedItem | None:
        """Returns the chosen item; None if there are no items."""
        return self.found.items[self.chosen] if self.found.items else None

    def move(self, step: int) -> None:
        """Moves the choice by `step` items and stops at the ends."""
        self.chosen = max(0, min(len(self.found.items) - 1, self.chosen + step))

    def why_not(self, item: InspectedItem) -> str:
        """Returns why an item cannot be discarded; empty if it can."""
        message = self._messages.get(item.short_id or "")
        if self._refusal is not None:
            return self._refusal
        if message is None:
            return "This item is Codex's own; it cannot be discarded."
        if message.protected is not None:
            return f"This stays: {message.protected}."
        return ""

    def mark(self) -> str:
        """Marks or unmarks the chosen item; returns why it cannot be marked, or an empty text."""
        item = self.item
        if item is None:
            return ""
        why = self.why_not(item)
        if not why and item.short_id is not None:
            self.marked.symmetric_difference_update({item.short_id})
        return why

    def is_marked(self, item: InspectedItem) -> bool:
        """Returns whether an item is marked for discarding."""
        return item.short_id in self.marked

    @property
    def marked_tokens(self) -> int:
        """Returns the estimated number of tokens that discarding the marked items frees."""
        return sum(self._messages[one].est_tokens for one in self.marked)

    @property
    def entry_ids(self) -> list[str]:
        """Returns the ids of the marked entries, in their order."""
        return [
            entry_id
            for message in self._messages.values()
            if message.short_id in self.marked
            for entry_id in message.entry_ids
        ]

    @property
    def totals(self) -> list[tuple[str, int]]:
        """Returns the tokens of each class of items, and of the tool definitions, which are not
        among the items.
        """
        totals = [(str(one.item_class), one.est_tokens) for one in self.found.totals]
        if self.found.overhead_tokens > 0:
            totals.append(("tools", self.found.overhead_tokens))
        return totals

    def bar(self, cells: int) -> list[Share]:
        """Returns the parts of a bar of `cells` cells that shows how the window is filled; the rest
        of the bar is free.
        """
        totals = self.totals
        whole = self.found.window_tokens or sum(count for _, count in totals) or 1
        return _shares(totals, max(whole, 1), cells)


def _shares(totals: Sequence[tuple[str, int]], whole: int, cells: int) -> list[Share]:
    shares: list[Share] = []
    drawn, tokens = 0, 0
    for item_class, count in totals:
        tokens += count
        end = min(cells, round(tokens * cells / whole))
        if end > drawn:
            shares.append(Share(item_class, end - drawn))
        drawn = max(drawn, end)
    return shares
