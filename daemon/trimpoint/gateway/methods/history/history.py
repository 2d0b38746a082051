"""A thread's whole history in Codex's display form, built from the ledger, which also has the turns
of earlier generations.

Codex knows only the turns of one provider thread. Shapes, defaults and directions are those of
Codex's `thread/turns/list` and `thread/items/list` (measured: 0.163). A cursor is an index into the
ledger, so that new turns do not shift pages.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.core.decide.overflow import EXCEEDED
from trimpoint.core.model.asked import APPROVAL, ASKED
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.history.history_markers import Markers
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.operations.messages import AFTER_OVERFLOW

DEFAULT_PAGE = 25
MAX_PAGE = 1000
MESSAGES = ("userMessage", "agentMessage")

Direction = Literal["asc", "desc"]
ItemsView = Literal["notLoaded", "summary", "full"]


class _TurnsParams(msgspec.Struct, rename="camel"):
    cursor: str | None = None
    limit: int | None = None
    sort_direction: Direction | None = None
    items_view: ItemsView | None = None


class _ItemAnchor(msgspec.Struct, rename="camel"):
    item_id: str


class _ItemsParams(msgspec.Struct, rename="camel"):
    cursor: str | _ItemAnchor | None = None
    limit: int | None = None
    sort_direction: Direction | None = None
    turn_id: str | None = None


class _ItemsReadParams(msgspec.Struct, rename="camel"):
    turn_id: str
    item_ids: list[str]


def all_turns(state: ThreadState) -> Iterator[dict[str, Any]]:
    """Yields every turn with its items, oldest first."""
    markers = Markers(state, with_messages=False)
    return (turn_object(state, index, markers) for index in range(len(state.turns)))


def turn_object(
    state: ThreadState, index: int, markers: Markers, items_view: ItemsView = "full"
) -> dict[str, Any]:
    """Returns one turn. `items_view` is `full`, `summary` (messages only) or `notLoaded` (no
    items).
    """
    turn = state.turns[index]
    runs = turn.status == "running" or turn.id == state.recovering_turn_id
    items = (
        []
        if items_view == "notLoaded"
        else [row["item"] for row in _rows(state, _places_of(state, turn.id), markers)]
    )
    if items_view == "summary":
        items = [item for item in items if item["type"] in MESSAGES]
    return {
        "id": turn.id,
        "rootTurnId": turn.id,
        "items": items,
        "itemsView": items_view,
        "status": "inProgress" if runs else turn.status,
        "error": _error_object(turn) if turn.error and not runs else None,
        "startedAt": turn.started_at_ms // 1000,
        "completedAt": None if turn.completed_at_ms is None else turn.completed_at_ms // 1000,
        "durationMs": _duration_ms(turn),
    }


def _error_object(turn: Turn) -> dict[str, Any]:
    # For other kinds only the name was recorded, without the data that Codex's form needs.
    info = turn.error_kind if turn.error_kind == EXCEEDED else None
    return {
        "message": turn.error,
        "codexErrorInfo": info,
        "additionalDetails": AFTER_OVERFLOW if info else None,
    }


def item_object(entry: Entry) -> dict[str, Any]:
    """Returns an entry as Codex's item: the recorded item if there is one, otherwise an item built
    from the entry's text.
    """
    if entry.detail:
        item: dict[str, Any] = msgspec.json.decode(entry.detail)
        item.pop(APPROVAL, None)
        return item
    if entry.role == "user":
        content: list[dict[str, Any]] = [{"type": "text", "text": entry.text, "text_elements": []}]
        return {"type": "userMessage", "id": entry.id, "clientId": None, "content": content}
    unknown = {"phase": None, "memoryCitation": None, "delivery": None, "questions": None}
    return {"type": "agentMessage", "id": entry.id, "text": entry.text, **unknown}


def turns_page(
    state: ThreadState, params: dict[str, Any], *, with_messages: bool = False
) -> dict[str, Any]:
    """Returns the answer to `thread/turns/list`, by default summaries with the newest first.
    `with_messages` is as for `Markers`.

    :raises Refusal: when the cursor is invalid.
    :raises msgspec.ValidationError: when a parameter has a wrong type.
    """
    wanted = msgspec.convert(params, _TurnsParams)
    start = _position("t", wanted.cursor) if wanted.cursor is not None else None
    page, cursors = _page(
        range(len(state.turns)), "t", start, wanted.limit, wanted.sort_direction or "desc"
    )
    view = wanted.items_view or "summary"
    markers = Markers(state, with_messages=with_messages)
    return {"data": [turn_object(state, index, markers, view) for index in page], **cursors}


def items_page(
    state: ThreadState, params: dict[str, Any], *, with_messages: bool = False
) -> dict[str, Any]:
    """Returns the answer to `thread/items/list`: the items of a thread or of one turn, by default
    the oldest first.

    An item that shows a trim is on the page of the entry before it, in addition to the page's
    limit. `with_messages` is as for `Markers`.

    :raises Refusal: when the cursor is invalid, or names an unknown item.
    :raises msgspec.ValidationError: when a parameter has a wrong type.
    """
    wanted = msgspec.convert(params, _ItemsParams)
    markers = Markers(state, with_messages=with_messages)
    direction = wanted.sort_direction or "asc"
    rows = (
        range(len(state.entries)) if wanted.turn_id is None else _places_of(state, wanted.turn_id)
    )
    start, first_rows = _items_start(state, wanted.cursor, direction, markers)
    page, cursors = _page(rows, "i", start, wanted.limit, direction)
    return {"data": [*first_rows, *_rows(state, page, markers)], **cursors}


def items_read(state: ThreadState, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to `thread/items/read`: the named items of a turn, in the ledger's order.

    :raises msgspec.ValidationError: when a parameter has a wrong type.
    """
    wanted = msgspec.convert(params, _ItemsReadParams)
    rows = (state.entries[index] for index in _places_of(state, wanted.turn_id))
    named = (entry for entry in rows if entry.id in wanted.item_ids and entry.role != ASKED)
    return {"data": [_item_row(entry) for entry in named]}


def _places_of(state: ThreadState, turn_id: str) -> range:
    index = state.turn_index.get(turn_id)
    return (
        range(0)
        if index is None
        else range(state.turns[index].first_entry_index, state.entries_end(index))
    )


def turn_cursor(state: ThreadState, turn_id: str) -> str:
    """Returns the cursor of a page that begins with this turn."""
    return _cursor("t", state.turn_index[turn_id])


def newest_turns(state: ThreadState) -> str | None:
    """Returns the cursor of a page that begins with the newest turn, or None if there is no
    turn.
    """
    return _cursor("t", len(state.turns) - 1) if state.turns else None


def newest_items(state: ThreadState) -> str | None:
    """Returns the cursor of a page that begins with the newest item, or None if there is no
    entry.
    """
    return _cursor("i", len(state.entries) - 1) if state.entries else None


def item_rows(state: ThreadState, place: int, markers: Markers) -> list[dict[str, Any]]:
    """Returns the row of the entry at an index of the ledger, and the rows of the trims behind
    it.
    """
    return _rows(state, range(place, place + 1), markers)


def _rows(state: ThreadState, places: range, markers: Markers) -> list[dict[str, Any]]:
    """Returns the rows of the entries at these indexes, in the order of `places`, and the rows of
    the trims behind each entry.
    """
    rows: list[dict[str, Any]] = []
    for place in places:
        entry = state.entries[place]
        own = [] if entry.role == ASKED else [_item_row(entry)]  # Codex has no such item
        group = [
            *own,
            *(
                {
                    "turnId": entry.turn_id,
                    "item": marker.item,
                    "startedAtMs": marker.at_ms,
                    "completedAtMs": marker.at_ms,
                }
                for marker in markers.behind(place)
            ),
        ]
        rows += group if places.step > 0 else reversed(group)
    return rows


def _item_row(entry: Entry) -> dict[str, Any]:
    at_ms = entry.created_at_ms
    return {
        "turnId": entry.turn_id,
        "item": item_object(entry),
        "startedAtMs": at_ms,
        "completedAtMs": at_ms,
    }


def _items_start(
    state: ThreadState, cursor: str | _ItemAnchor | None, direction: Direction, markers: Markers
) -> tuple[int | None, list[dict[str, Any]]]:
    """Returns the index at which a page begins, and rows that come before it on the page.

    An anchor item itself is not on the page, but items that stand at the same index after it are.
    """
    if not isinstance(cursor, _ItemAnchor):
        return (None if cursor is None else _position("i", cursor)), []
    place = markers.place_of(cursor.item_id)
    is_entry = place is None
    if place is None:
        place = state.place_of(cursor.item_id)
    if place is None:
        raise Refusal(Reason.INVALID_PARAMS, f"The thread has no item {cursor.item_id!r}.")
    step = 1 if direction == "asc" else -1
    together = _rows(state, range(place, place + step, step), markers)
    ids = [row["item"].get("id") for row in together]
    entry_at = 0 if direction == "asc" else len(ids) - 1
    anchor_at = entry_at if is_entry else ids.index(cursor.item_id)
    return place + step, together[anchor_at + 1 :]


def _page(
    rows: range, kind: str, start: int | None, limit: int | None, direction: Direction
) -> tuple[range, dict[str, str | None]]:
    """Returns the indexes of a page, and its cursors.

    The page begins at `start`, which is included, and takes indexes of `rows` in `direction`.
    """
    if direction == "desc":
        following = range(
            rows.stop - 1 if start is None else min(rows.stop - 1, start), rows.start - 1, -1
        )
    else:
        following = range(rows.start if start is None else max(rows.start, start), rows.stop)
    size = page_size(limit, DEFAULT_PAGE, MAX_PAGE)
    page, rest = following[:size], following[size:]
    return page, {
        "nextCursor": _cursor(kind, rest[0]) if rest else None,
        "backwardsCursor": _cursor(kind, page[0]) if page else None,
    }


def page_size(limit: int | None, default: int, most: int) -> int:
    """Returns the number of rows of a page: `limit` or the default, between 1 and `most`."""
    return max(1, min(default if limit is None else limit, most))


def _cursor(kind: str, position: int) -> str:
    return f"{kind}{position}"


def _position(kind: str, cursor: str) -> int:
    digits = cursor.removeprefix(kind)
    if cursor == digits or not (digits.isascii() and digits.isdigit()) or len(digits) > 12:
        problem = (
            "The cursor does not belong to this history; the thread may have been trimmed since it "
            "was given out."
        )
        raise Refusal(Reason.INVALID_PARAMS, problem, "Begin again without a cursor.")
    return int(digits)


def _duration_ms(turn: Turn) -> int | None:
    return None if turn.completed_at_ms is None else turn.completed_at_ms - turn.started_at_ms
