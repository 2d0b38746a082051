"""Pages of a timeline: back from the newest, bounded in entries and bytes, oldest first within a page (spec §2)."""

import base64

import msgspec
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import TimelinePage, TimelineParams

from trimpoint.core.state import ThreadState
from trimpoint.core.timeline import derive_timeline_entries
from trimpoint.gateway.refusals import Refusal

DEFAULT_ENTRIES = 200
MAX_PAGE_BYTES = 4 * 1024 * 1024


def timeline_page(state: ThreadState, params: TimelineParams) -> TimelinePage:
    """One page. A cursor says how many entries, counted from the oldest, lie before the page that was given out with it.

    :raises Refusal: when the cursor or an expanded trim point is none of this thread's.
    """
    known = frozenset(point.id for point in state.trim_points)
    expanded = known if params.expand == "all" else frozenset(params.expand or ())
    if unknown := expanded - known:
        raise Refusal(Reason.INVALID_PARAMS, f"The thread has no trim point {sorted(unknown)[0]!r}.")
    entries = list(derive_timeline_entries(state, expanded))
    end = len(entries) if params.cursor is None else _position(params.cursor, len(entries))
    start = end
    room_bytes = MAX_PAGE_BYTES
    while start > 0 and end - start < (params.limit or DEFAULT_ENTRIES):
        room_bytes -= len(msgspec.json.encode(entries[start - 1]))
        if room_bytes < 0 and start < end:
            break
        start -= 1
    return TimelinePage(entries=entries[start:end], next_cursor=_cursor(start) if start > 0 else None)


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(b"t%d" % position).decode()


def _position(cursor: str, count: int) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
        position = int(text.removeprefix("t")) if text.startswith("t") else -1
    except ValueError:
        position = -1
    if not 0 <= position <= count:
        raise Refusal(Reason.INVALID_PARAMS, "The cursor is none that this method gave out.")
    return position
