"""A thread's whole history in Codex's own display form, from the ledger: what one thread with several generations looks like.

Codex only knows the turns of one provider thread; the ledger knows all of them. Shapes are Codex's `Turn` and `ThreadItem` (v2).
"""

from typing import Any

import msgspec

from trimpoint.core.state import Entry, ThreadState, Turn

DEFAULT_PAGE = 25
MAX_PAGE = 1000


def all_turns(state: ThreadState) -> list[dict[str, Any]]:
    """Every turn with its items, oldest first."""
    return [turn_object(state, index) for index in range(len(state.turns))]


def turn_object(state: ThreadState, index: int, items_view: str = "full") -> dict[str, Any]:
    """One turn; `items_view`: full | summary (messages only) | notLoaded (no items)."""
    turn = state.turns[index]
    items = [] if items_view == "notLoaded" else [item_object(entry) for entry in turn_entries(state, index)]
    if items_view == "summary":
        items = [item for item in items if item["type"] in ("userMessage", "agentMessage")]
    return {
        "id": turn.id,
        "items": items,
        "itemsView": items_view,
        "status": "inProgress" if turn.status == "running" else turn.status,
        "error": {"message": turn.error, "codexErrorInfo": None, "additionalDetails": None} if turn.error else None,
        "startedAt": turn.started_at_ms // 1000,
        "completedAt": None if turn.completed_at_ms is None else turn.completed_at_ms // 1000,
        "durationMs": _duration_ms(turn),
    }


def turn_entries(state: ThreadState, index: int) -> list[Entry]:
    """The entries of one turn, in order."""
    start = state.turns[index].first_entry_index
    end = state.turns[index + 1].first_entry_index if index + 1 < len(state.turns) else len(state.entries)
    return state.entries[start:end]


def item_object(entry: Entry) -> dict[str, Any]:
    """An entry as Codex displays it; the item itself where it was kept, else rebuilt from its text."""
    if entry.detail:
        item: dict[str, Any] = msgspec.json.decode(entry.detail)
        return item
    if entry.role == "user":
        content = [{"type": "text", "text": entry.text, "text_elements": []}]
        return {"type": "userMessage", "id": entry.id, "clientId": None, "content": content}
    return {"type": "agentMessage", "id": entry.id, "text": entry.text, "phase": None, "memoryCitation": None}


def turns_page(state: ThreadState, params: dict[str, Any]) -> dict[str, Any]:
    """`thread/turns/list`: newest first unless asked otherwise."""
    indices = list(range(len(state.turns)))
    if params.get("sortDirection") != "asc":
        indices.reverse()
    view = str(params.get("itemsView") or "full")
    page, next_cursor, back_cursor = _slice(indices, params)
    return {
        "data": [turn_object(state, index, view) for index in page],
        "nextCursor": next_cursor,
        "backwardsCursor": back_cursor,
    }


def items_page(state: ThreadState, params: dict[str, Any]) -> dict[str, Any]:
    """`thread/items/list`: a thread's items, or one turn's."""
    turn_id = params.get("turnId")
    entries = [entry for entry in state.entries if turn_id is None or entry.turn_id == turn_id]
    if params.get("sortDirection") != "asc":
        entries.reverse()
    page, next_cursor, back_cursor = _slice(entries, params)
    return {
        "data": [{"turnId": entry.turn_id, "item": item_object(entry)} for entry in page],
        "nextCursor": next_cursor,
        "backwardsCursor": back_cursor,
    }


def _slice(rows: list[Any], params: dict[str, Any]) -> tuple[list[Any], str | None, str | None]:
    cursor = str(params.get("cursor") or "0")
    start = int(cursor) if cursor.isdigit() else 0
    limit = max(1, min(int(params.get("limit") or DEFAULT_PAGE), MAX_PAGE))
    end = start + limit
    return rows[start:end], str(end) if end < len(rows) else None, str(start) if rows[start:end] else None


def _duration_ms(turn: Turn) -> int | None:
    return None if turn.completed_at_ms is None else turn.completed_at_ms - turn.started_at_ms
