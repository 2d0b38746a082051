"""Pages of a timeline: back from the newest, bounded in entries and bytes, oldest first within a
page (docs/spec/model.md).
"""

import base64
import zlib

import msgspec
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import TimelinePage, TimelineParams
from trimpoint_protocol.readmodel import TimelineEntry

from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint.gateway.session.errors import Refusal

DEFAULT_ENTRIES = 200
MAX_PAGE_BYTES = 4 * 1024 * 1024


def timeline_page(state: ThreadState, params: TimelineParams) -> TimelinePage:
    """One page. A cursor says how many entries, counted from the oldest, lie before the page that
    was given out with it.

    :raises Refusal: when the cursor or an expanded trim point is none of this thread's, or the
        cursor is of another view of it.
    """
    known = frozenset(point.id for point in state.boundaries)
    expanded = known if params.expand == "all" else frozenset(params.expand or ())
    if unknown := expanded - known:
        raise Refusal(
            Reason.INVALID_PARAMS, f"The thread has no trim point {sorted(unknown)[0]!r}."
        )
    timeline, view = Timeline(state, expanded), _view(state, expanded)
    end = len(timeline) if params.cursor is None else _position(params.cursor, view, len(timeline))
    entries = _back_from(timeline, end, params.limit or DEFAULT_ENTRIES)
    start = end - len(entries)
    return TimelinePage(entries=entries, next_cursor=_cursor(start, view) if start > 0 else None)


def _back_from(timeline: Timeline, end: int, limit: int) -> list[TimelineEntry]:
    """The entries before `end`, as many as a page may hold and at least one, oldest first."""
    entries: list[TimelineEntry] = []
    room_bytes = MAX_PAGE_BYTES
    for at in range(end - 1, max(-1, end - 1 - limit), -1):
        entry = timeline[at]
        room_bytes -= len(msgspec.json.encode(entry))
        if room_bytes < 0 and entries:
            break
        entries.append(entry)
    return entries[::-1]


def _view(state: ThreadState, expanded: frozenset[str]) -> int:
    """What a cursor depends on. New entries come last and move none; a trim, or another `expand`,
    moves all.
    """
    return zlib.crc32(
        msgspec.json.encode([point.id for point in state.boundaries] + sorted(expanded))
    )


def _cursor(position: int, view: int) -> str:
    return base64.urlsafe_b64encode(b"t%d.%d" % (position, view)).decode()


def _position(cursor: str, view: int, count: int) -> int:
    try:
        text = base64.b64decode(cursor.encode(), b"-_", validate=True).decode()
        position, of_view = map(int, text.removeprefix("t").split("."))
    except ValueError:
        position, of_view = -1, view
    if of_view != view:
        problem = (
            "The cursor is of another view of this thread: it was trimmed since, or other sections "
            "are expanded."
        )
        raise Refusal(Reason.INVALID_PARAMS, problem, "Begin again without a cursor.")
    if not 0 <= position <= count:
        raise Refusal(Reason.INVALID_PARAMS, "The cursor is none that this method gave out.")
    return position
