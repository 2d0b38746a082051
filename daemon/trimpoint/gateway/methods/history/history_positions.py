"""A thread's whole history in order, with the start and end of each turn, as Codex's
`thread/timeline/list` returns it for one provider thread.

A position is the number of entries and turn boundaries before it, plus one. A page holds the newest
rows before its cursor, oldest first (measured: 0.163).
"""

from bisect import bisect_right
from typing import Any

import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.history.history import item_rows, page_size, turn_object
from trimpoint.gateway.methods.history.history_markers import Markers
from trimpoint.gateway.session.requests.errors import Refusal

DEFAULT_PAGE = 25
MAX_PAGE = 100


class _Params(msgspec.Struct, rename="camel"):
    cursor: str | None = None
    limit: int | None = None


def positions_page(
    state: ThreadState, params: dict[str, Any], *, with_messages: bool = False
) -> dict[str, Any]:
    """Returns a page. An item that shows a trim has the position of the entry before it, and is in
    addition to the page's limit. `with_messages` is as for `Markers`.

    :raises Refusal: when the cursor is invalid.
    :raises msgspec.ValidationError: when a parameter has a wrong type.
    """
    wanted = msgspec.convert(params, _Params)
    end = _end(state)
    if wanted.cursor is not None:
        end = min(end, _position(wanted.cursor))
    size = page_size(wanted.limit, DEFAULT_PAGE, MAX_PAGE)
    begin = max(1, end - size)
    markers = Markers(state, with_messages=with_messages)
    listed = [row for at in range(begin, end) for row in _rows_at(state, at, markers)]
    return {
        "data": listed,
        "nextCursor": f"p{begin}" if begin > 1 else None,
        "activeRealtimeSessionAtPageStart": None,
    }


def _end(state: ThreadState) -> int:
    """Returns the first position after all rows. A running turn has no end row yet."""
    runs = bool(state.turns) and _turn(state, len(state.turns) - 1)["status"] == "inProgress"
    return len(state.entries) + 2 * len(state.turns) + 1 - runs


def _rows_at(state: ThreadState, position: int, markers: Markers) -> list[dict[str, Any]]:
    index = bisect_right(range(len(state.turns)), position, key=lambda one: _started_at(state, one))
    index -= 1
    started_at = _started_at(state, index)
    turn, at = _turn(state, index), {"position": position}
    if position == started_at:
        boundary = {"turnId": turn["id"], "startedAt": turn["startedAt"]}
        return [{"type": "turnStarted", **at, **boundary}]
    place = state.turns[index].first_entry_index + position - started_at - 1
    if place < state.entries_end(index):
        rows = item_rows(state, place, markers)
        return [
            {"type": "item", **at, "turnId": row["turnId"], "item": row["item"]} for row in rows
        ]
    told = ("status", "error", "startedAt", "completedAt", "durationMs")
    return [
        {"type": "turnCompleted", **at, "turnId": turn["id"], **{name: turn[name] for name in told}}
    ]


def _started_at(state: ThreadState, index: int) -> int:
    return state.turns[index].first_entry_index + 2 * index + 1


def _turn(state: ThreadState, index: int) -> dict[str, Any]:
    return turn_object(state, index, Markers(state, with_messages=False), "notLoaded")


def _position(cursor: str) -> int:
    digits = cursor.removeprefix("p")
    if cursor == digits or not (digits.isascii() and digits.isdigit()) or len(digits) > 12:
        problem = "invalid thread timeline cursor"
        raise Refusal(Reason.INVALID_PARAMS, problem, "Begin again without a cursor.")
    return max(1, int(digits))
