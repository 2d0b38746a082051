"""Finds the answer that is a compaction's summary, in versions that wrote it down as any other
(driven: 0.137 and 0.148; later ones mark it). Pure.
"""

from trimpoint.sessionlogs.codex.items import text_of
from trimpoint.sessionlogs.codex.rows import BROKEN, Item, decode_item_row
from trimpoint.sessionlogs.records import Records


class NewestAnswer:
    """The newest item of a turn, if it is an answer. It is found out while the log is read for the
    first time that it was the summary; the second time it is passed over.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._answer: bytes | Item | None = None
        self._passed_over = False

    def note(self, answer: bytes | Item | None) -> None:
        """Takes the newest item: an answer as its line or decoded, None for anything else."""
        self._answer = answer

    def passes_over(self, item: Item) -> bool:
        """Returns whether an item turned out to be the summary."""
        found = item.role == "assistant" and self._records.withdraws_next()
        self._passed_over = self._passed_over or found
        return found

    def withdraw(self, summary: str | None) -> bool:
        """Takes the answer out if it is the summary; returns whether there was such an answer."""
        answer, self._answer = self._answer, None
        passed_over, self._passed_over = self._passed_over, False
        if self._records.wanted or answer is None or not summary:
            return passed_over
        if _text_in(answer) != summary:
            return False
        self._records.window.withdraw()
        return True


def _text_in(answer: bytes | Item) -> str | None:
    try:
        item = answer if isinstance(answer, Item) else decode_item_row(answer).payload
    except BROKEN:
        return None
    return text_of(item.content)
