"""Updates the index from a journal, piece by piece. All functions block."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.core.views.entry_text import entry_text, history_kind, is_own_tool_call
from trimpoint.journal.codec.records import UnreadableRecord, decode_record
from trimpoint.journal.framing import payloads
from trimpoint.journal.port import Bookmark
from trimpoint.journal.storage.inspection import Piece, read_piece
from trimpoint.recall.index import IndexedEntry, IndexedTurn, RecallIndex

PIECE_BYTES = 512 * 1024
"""The number of bytes of a journal that are read into memory at once."""
MAX_INDEXED_CHARS = 64 * 1024
"""Of a longer entry, only the beginning and the end are indexed."""


def index_piece(
    index: RecallIndex, thread_id: str, journal: Path, known: Bookmark | None
) -> Bookmark | None:
    """Indexes the next piece of a thread's journal. `known` is the bookmark up to which it is
    indexed.

    Returns the bookmark after the piece, or None if the journal has nothing more. A journal that
    does not continue at `known`, because it was restored or repaired, is indexed from the start.

    :raises OSError: when the journal cannot be read.
    :raises sqlite3.Error: when the index cannot be written.
    """
    piece = read_piece(journal, known, PIECE_BYTES)
    if piece is None:
        return None
    if known is not None and piece.start != known.position:
        index.forget(thread_id)
    reader = _PieceReader(index, thread_id)
    reader.read(piece)
    index.add(thread_id, reader.folder, reader.turns(), piece.end)
    return piece.end


class _TurnSoFar(msgspec.Struct):
    begins: bool
    entries: int
    indexed: list[IndexedEntry]


class _PieceReader:
    """Collects the entries of a piece by turn. `folder` is the thread's folder if the piece has it,
    else empty.
    """

    def __init__(self, index: RecallIndex, thread_id: str) -> None:
        self.folder = ""
        self._index = index
        self._thread_id = thread_id
        self._turns: list[tuple[str, _TurnSoFar]] = []
        self._newest: dict[str, _TurnSoFar] = {}

    def read(self, piece: Piece) -> None:
        """Reads the records of the piece, up to the first that this version does not know. The
        thread is read-only from there, so a search could not show later entries.
        """
        for payload in payloads(piece.records):
            try:
                record = decode_record(payload)
            except UnreadableRecord:
                return
            for event in record.events:
                self._on_event(event)

    def turns(self) -> Iterable[IndexedTurn]:
        """Yields the turns of the piece with their entries to index."""
        for turn_id, turn in self._turns:
            yield IndexedTurn(turn_id, turn.begins, turn.entries, turn.indexed)

    def _on_event(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ThreadCreated():
                self.folder = event.cwd
            case ev.TurnStarted():
                self._begin(event.turn_id, begins=True, entries=0)
            case ev.EntryRecorded():
                self._record(event)
            case _:
                pass

    def _begin(self, turn_id: str, *, begins: bool, entries: int) -> _TurnSoFar:
        turn = _TurnSoFar(begins, entries, [])
        self._turns.append((turn_id, turn))
        self._newest[turn_id] = turn
        return turn

    def _record(self, event: ev.EntryRecorded) -> None:
        if event.extent == ev.REST:
            return  # its part is in the index, and entries are counted by place
        turn = self._newest.get(event.turn_id)
        if turn is None:
            known = self._index.entries_in(self._thread_id, event.turn_id)
            turn = self._begin(event.turn_id, begins=False, entries=known)
        if not is_own_tool_call(event.role, event.text):
            text = entry_text(event.kind, event.role, event.text, event.detail)
            kind = history_kind(event.kind, event.role)
            turn.indexed.append(IndexedEntry(turn.entries, kind, _bounded(text)))
        turn.entries += 1


def _bounded(text: str) -> str:
    if len(text) <= MAX_INDEXED_CHARS:
        return text
    half = MAX_INDEXED_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"
