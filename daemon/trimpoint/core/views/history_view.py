"""Finds entries of the ledger by id or position for searches and readers. Pure."""

import re
from typing import NamedTuple

from trimpoint_protocol.shapes.history_kinds import HistoryKind

from trimpoint.core.context.gone_entries import gone_entries, masked_entries
from trimpoint.core.model.ledger import Entry, qualified_entry_id
from trimpoint.core.model.spelling import entry_ref
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.entry_text import entry_text, history_kind

_SHORT_ID = re.compile(r"h([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")

_SAID: dict[HistoryKind, str] = {
    "user": "prompt",
    "assistant": "answer",
    "command": "command",
    "fileChange": "file change",
    "toolCall": "tool call",
    "reasoning": "reasoning",
    "plan": "plan",
    "other": "activity",
}


class PlacedEntry(NamedTuple):
    """An entry with its position in the ledger. `turn` is the number of its turn, counted from 1.
    `short_id` is such as `h3.2`: the second entry of the third turn.
    """

    position: int
    turn: int
    short_id: str
    entry: Entry

    @property
    def text(self) -> str:
        """Returns the full text of the entry."""
        entry = self.entry
        return entry_text(entry.kind, entry.role, entry.text, entry.detail)


def entry_of_turn(state: ThreadState, turn_id: str, place: int) -> PlacedEntry | None:
    """Returns the entry at index `place` of a turn, counted from 0, or None if there is none."""
    at = state.turn_index.get(turn_id)
    return _at(state, at, place) if at is not None else None


def named_entry(state: ThreadState, name: str, turn_id: str | None = None) -> PlacedEntry | None:
    """Returns the entry with a short id, an id or a qualified id, or None. If several entries
    match, the newest is returned.

    `turn_id` restricts the search to one turn.
    """
    if (short := _SHORT_ID.fullmatch(name)) is not None and turn_id is None:
        turn, place = int(short[1]) - 1, int(short[2]) - 1
        return _at(state, turn, place) if turn < len(state.turns) else None
    if turn_id is None and (index := state.place_of(name)) is not None:
        return placed(state, index)
    qualified_turn, separator, entry_id = name.partition("#")
    wanted_turn = turn_id or (qualified_turn if separator else None)
    if wanted_turn is None:
        return _searched(state, name)
    at = state.turn_index.get(wanted_turn)
    if at is None:
        return None
    names = (name, entry_id) if separator else (name,)
    first = state.turns[at].first_entry_index
    for place, entry in enumerate(state.entries[first : state.entries_end(at)]):
        if entry.id in names or qualified_entry_id(entry.turn_id, entry.id) == name:
            return _at(state, at, place)
    return None


def _searched(state: ThreadState, entry_id: str) -> PlacedEntry | None:
    """Returns the newest entry with this id, or None. All entries are searched, because those of
    trimmed turns may not be in the index.
    """
    for index in range(len(state.entries) - 1, -1, -1):
        if state.entries[index].id == entry_id:
            return placed(state, index)
    return None


def placed(state: ThreadState, index: int) -> PlacedEntry:
    """Returns the entry at position `index` of the ledger."""
    entry = state.entries[index]
    turn = state.turn_index[entry.turn_id]
    place = index - state.turns[turn].first_entry_index
    return PlacedEntry(index, turn + 1, f"h{turn + 1}.{place + 1}", entry)


def _at(state: ThreadState, turn: int, place: int) -> PlacedEntry | None:
    index = state.turns[turn].first_entry_index + place
    return placed(state, index) if index < state.entries_end(turn) else None


class ContextMembership:
    """Tells for each entry whether it is in the active context word for word."""

    def __init__(self, state: ThreadState) -> None:
        self._active_from = state.active_from_turn
        self._turn_index = state.turn_index
        self._pinned = {pin.turn_id for pin in state.pins}
        self._gone = gone_entries(state).keys() | masked_entries(state)

    def has(self, entry: Entry) -> bool:
        """Returns whether the entry is in the active context word for word."""
        if entry.is_part or (entry.turn_id, entry.id) in self._gone:
            return False
        active = self._turn_index[entry.turn_id] >= self._active_from
        return active or entry.turn_id in self._pinned


def found_line(thread_id: str, found: PlacedEntry, snippet: str, *, in_context: bool) -> str:
    """Returns a found entry as one line for a chat, with an id that every command takes."""
    kind = _SAID[history_kind(found.entry.kind, found.entry.role)]
    where = "" if in_context else ", not in the context"
    name = entry_ref(thread_id, found.short_id)
    return f"{name} ({kind}{where}): {' '.join(snippet.split())}"
