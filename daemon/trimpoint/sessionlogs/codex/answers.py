"""Finds the answer that is a compaction's summary in versions that wrote it like any other answer
(driven: 0.137 and 0.148; later ones mark it). Pure.
"""

from trimpoint.sessionlogs.codex.items import text_of
from trimpoint.sessionlogs.codex.rows import BROKEN, Item, decode_item_row
from trimpoint.sessionlogs.records import Records


class NewestAnswer:
    """The newest item of a turn if it is an answer. The first reading finds out whether it was the
    summary; the second one skips it.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._answer: bytes | Item | None = None
        self._passed_over = False

    def note(self, answer: bytes | Item | None) -> None:
        """Sets the newest item: an answer as its line or decoded, None for any other item."""
        self._answer = answer

    def passes_over(self) -> bool:
        """Returns whether the next answer is the summary and must be skipped."""
        found = self._records.withdraws_next()
        self._passed_over = self._passed_over or found
        return found

    def withdraw(self, summary: str | None) -> bool:
        """Removes the answer if it is the summary; returns whether it was removed."""
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
