"""Makes stories of trimpoint's own threads, from their journals: as if nothing had been trimmed."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.journal.codec.records import decode_record
from trimpoint.journal.framing import payloads
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.inspection import read_piece
from trimpoint.sessionlogs.codex.items import content_of
from trimpoint.sessionlogs.codex.rows import decode_item
from trimpoint.sessionlogs.records import Records
from trimpoint.sessionlogs.replay.story import CODEX_WINDOW, Story, StoryMaker

PIECE_BYTES = 512 * 1024


class OwnThread:
    """What is read of a thread: its folder, when it changed last, in milliseconds since the epoch,
    and its Codex threads, whose logs are not counted again.
    """

    def __init__(self, journal: Path) -> None:
        """Reads a journal.

        :raises OSError: when it cannot be read.
        :raises UnreadableRecord: when it has something that this version does not know.
        """
        self.folder = ""
        self.changed_at_ms = 0
        self.provider_ids: set[str] = set()
        self._turns: dict[str, list[tuple[int, bytes]]] = {}
        self._window, self._first_input, self._reported = CODEX_WINDOW, 0, 0
        for self.changed_at_ms, event in _events(journal):
            self._note(event)

    def _note(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ThreadCreated():
                self.folder = event.cwd
                self.provider_ids.add(event.thread_id)
            case ev.ProviderThreadBound():
                self.provider_ids.add(event.provider_thread_id)
            case ev.ContextItemsRecorded():
                items = [(self.changed_at_ms, item) for item in event.items]
                before = self._turns.get(event.turn_id, []) if event.source == "events" else []
                self._turns[event.turn_id] = before + items
            case ev.UsageReported():
                self._window = event.window or self._window
                self._first_input = self._first_input or event.input
                self._reported += event.input
            case _:
                return

    def story(self) -> Story:
        """Returns the story of the thread."""
        maker, records = StoryMaker(), Records()
        for at_ms, item in (one for items in self._turns.values() for one in items):
            maker.add(content_of(decode_item(msgspec.Raw(item)), records), at_ms)
        return maker.story(
            self._window, first_input=self._first_input, reported=self._reported or None
        )


def _events(journal: Path) -> Iterator[tuple[int, ev.AnyEvent]]:
    known: Bookmark | None = None
    while (piece := read_piece(journal, known, PIECE_BYTES)) is not None:
        known = piece.end
        for payload in payloads(piece.records):
            record = decode_record(payload)
            for event in record.events:
                yield record.occurred_at_ms, event
