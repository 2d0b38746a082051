"""Pages of a timeline, from the newest backwards. They are bounded in entries and bytes, and list
the oldest entry first (docs/spec/model.md).
"""

import base64
import zlib

import msgspec
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import TimelinePage, TimelineParams
from trimpoint_protocol.readmodel import TimelineActivity, TimelineEntry, TimelineMessage
from trimpoint_protocol.shapes.orchestration import TimelineTurn

from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint.gateway.session.requests.errors import Refusal

DEFAULT_ENTRIES = 200
MAX_PAGE_BYTES = 4 * 1024 * 1024


def timeline_page(state: ThreadState, params: TimelineParams) -> TimelinePage:
    """Returns one page. A cursor holds the number of entries before the page with which it was
    returned.

    :raises Refusal: when the thread has no such trim point, or the cursor is invalid or belongs to
        another view of the thread.
    """
    known = frozenset(point.id for point in state.boundaries)
    expanded = known if params.expand == "all" else frozenset(params.expand or ())
    if unknown := expanded - known:
        raise Refusal(
            Reason.INVALID_PARAMS, f"The thread has no trim point {sorted(unknown)[0]!r}."
        )
    timeline, view = Timeline(state, expanded), _view(state, expanded)
    end = len(timeline)
    if params.cursor is not None:
        end = _position(params.cursor, view, end)
    elif params.before_entry is not None:
        end = min(params.before_entry, end)
    elif params.before_turn is not None and params.before_turn < len(state.turns):
        end = timeline.place_of(state.turns[params.before_turn].first_entry_index)
    entries = _back_from(timeline, end, params.limit or DEFAULT_ENTRIES)
    start = end - len(entries)
    return TimelinePage(
        entries=entries,
        next_cursor=_cursor(start, view) if start > 0 else None,
        first_entry=start,
        entry_count=len(timeline),
        turns=_turns_of(state, entries),
    )


def _turns_of(state: ThreadState, entries: list[TimelineEntry]) -> list[TimelineTurn]:
    ids = dict.fromkeys(
        entry.turn_id for entry in entries if isinstance(entry, TimelineMessage | TimelineActivity)
    )
    turns = [(state.turn_index[one], one) for one in ids if one in state.turn_index]
    return [
        TimelineTurn(
            id=turn_id, number=at + 1, status=state.turns[at].status, error=state.turns[at].error
        )
        for at, turn_id in turns
    ]


def _back_from(timeline: Timeline, end: int, limit: int) -> list[TimelineEntry]:
    """Returns the entries before `end`, as many as fit into a page but at least one, oldest
    first.
    """
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
    """Returns a checksum of the trim points and of `expanded`, which decide where entries stand in
    a timeline.

    New entries are added at the end and keep cursors valid, but a trim or another `expand` does
    not.
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
        raise Refusal(Reason.INVALID_PARAMS, "The cursor was not issued by this method.")
    return position
