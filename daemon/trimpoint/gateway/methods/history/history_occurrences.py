"""Finds a term in the messages of a thread's whole history, as Codex's `thread/searchOccurrences`
does for one provider thread.

Codex collapses the whitespace of a message, ignores case, and returns the text around each match.
Lengths and limits are Codex's (measured: 0.163).
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import anyio.lowlevel
import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.core.model.ledger import Entry
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.history.history import item_object, page_size, turn_cursor
from trimpoint.gateway.session.requests.errors import Refusal

DEFAULT_PAGE = 50
MAX_PAGE = 250
CHARACTERS_BEFORE = 49
CHARACTERS_AFTER = 96
# After this many entries, other tasks of the event loop may run.
ENTRIES_AT_ONCE = 200


class _Params(msgspec.Struct, rename="camel"):
    search_term: str
    cursor: str | None = None
    limit: int | None = None


class _Cursor(msgspec.Struct, array_like=True):
    """The first match of the next page: the index of its entry in the ledger, and its number within
    that entry.
    """

    search_term: str
    place: int = 0
    match: int = 0


class _Found(NamedTuple):
    cursor: _Cursor
    occurrence: dict[str, Any]


async def occurrences_page(state: ThreadState, params: dict[str, Any]) -> dict[str, Any]:
    """Returns a page of occurrences, oldest first.

    :raises Refusal: when the term is empty, or the cursor does not belong to this term.
    :raises msgspec.ValidationError: when a parameter has a wrong type.
    """
    wanted = msgspec.convert(params, _Params)
    term = wanted.search_term
    if not term.strip():
        problem = "thread/searchOccurrences requires a non-empty searchTerm"
        raise Refusal(Reason.INVALID_PARAMS, problem)
    start = _Cursor(term) if wanted.cursor is None else _decoded(wanted.cursor, term)
    size = page_size(wanted.limit, DEFAULT_PAGE, MAX_PAGE)
    found: list[_Found] = []
    place = start.place
    while len(found) <= size and place < len(state.entries):
        found += islice(_in_entry(state, place, start), size + 1 - len(found))
        place += 1
        if place % ENTRIES_AT_ONCE == 0:
            await anyio.lowlevel.checkpoint()
    rest = found[size:]
    return {
        "data": [one.occurrence for one in found[:size]],
        "nextCursor": msgspec.json.encode(rest[0].cursor).decode() if rest else None,
    }


def _in_entry(state: ThreadState, place: int, start: _Cursor) -> Iterator[_Found]:
    entry = state.entries[place]
    if entry.kind != "message":
        return
    text = " ".join(entry.text.split())
    first = start.match if place == start.place else 0
    matches = re.finditer(re.escape(start.search_term), text, re.IGNORECASE)
    for number, match in enumerate(matches):
        if number >= first:
            cursor = _Cursor(start.search_term, place, number)
            yield _Found(cursor, _occurrence(state, entry, text, match.span()))


def _occurrence(
    state: ThreadState, entry: Entry, text: str, span: tuple[int, int]
) -> dict[str, Any]:
    start, end = span
    shown_from, shown_to = max(0, start - CHARACTERS_BEFORE), end + CHARACTERS_AFTER
    before = ("... " if shown_from else "") + text[shown_from:start]
    after = text[end:shown_to] + (" ..." if shown_to < len(text) else "")
    begins_at = _utf16_units(before)
    return {
        "turnId": entry.turn_id,
        "itemId": item_object(entry)["id"],
        "snippet": before + text[start:end] + after,
        "snippetMatchRange": {
            "start": begins_at,
            "end": begins_at + _utf16_units(text[start:end]),
        },
        "turnCursor": turn_cursor(state, entry.turn_id),
    }


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _decoded(cursor: str, term: str) -> _Cursor:
    try:
        decoded = msgspec.json.decode(cursor, type=_Cursor)
    except msgspec.MsgspecError:
        decoded = None
    if decoded is None or decoded.search_term != term or decoded.place < 0 or decoded.match < 0:
        problem = f"invalid cursor: {cursor}"
        raise Refusal(Reason.INVALID_PARAMS, problem, "Begin again without a cursor.")
    return decoded
