"""Renders the turns of a thread as text for a person who types `/timeline` in a chat."""

from collections.abc import Iterator

from trimpoint.core.context.segment_kinds import preview
from trimpoint.core.model.decision import counted
from trimpoint.core.model.ledger import TrimPoint
from trimpoint.core.model.spelling import short_id
from trimpoint.core.model.state import ThreadState

TURNS_SHOWN = 20
_ENDS = {"failed": " (failed)", "interrupted": " (interrupted)", "running": " (still running)"}


def timeline_text(state: ThreadState, count: int | None = None) -> str:
    """Returns the newest `count` turns with their numbers and with the trim points between them;
    `TURNS_SHOWN` turns if `count` is None.
    """
    total = len(state.turns)
    if not total:
        return "There are no messages yet."
    first = max(0, total - (count or TURNS_SHOWN))
    return "\n".join([_title(state, total, first), *_lines(state, first), *_handed_off(state)])


def _handed_off(state: ThreadState) -> Iterator[str]:
    """Yields a line for each thread that was begun with a brief of this one."""
    for one in state.handoffs:
        goal = f": {preview(one.goal)}" if one.goal else ""
        yield f"──── handed off to the thread {short_id(one.thread_id)}{goal} ────"


def _title(state: ThreadState, total: int, first: int) -> str:
    shown = f"The last {total - first} of {total} turns" if first else counted(total, "turn")
    if state.parent_thread_id is not None:
        shown += f", begun from the thread {short_id(state.parent_thread_id)}"
    known = total - state.active_from_turn
    if known == total:
        return f"{shown}. The agent knows all of them."
    return f"{shown}. The agent knows the last {known}." if known else f"{shown}, all trimmed."


def _lines(state: ThreadState, first: int) -> Iterator[str]:
    width = len(str(len(state.turns)))
    points = sorted(state.trim_points, key=lambda point: (point.turn_index, point.generation))
    below = [point for point in points if point.turn_index > first]
    for place in range(first, len(state.turns)):
        while below and below[0].turn_index <= place:
            yield _divider(below.pop(0))
        turn = state.turns[place]
        prompts = (entry.text for entry in state.entries_of(turn) if entry.role == "user")
        shown = preview(next(prompts, "")) or "(no prompt)"
        yield f"{place + 1:>{width}}. {shown}{_ENDS.get(turn.status, '')}"
    yield from map(_divider, below)


def _divider(point: TrimPoint) -> str:
    what = "summarized" if point.summary is not None or point.summary_unavailable else "cleared"
    return f"──── {what}: {counted(point.pruned_message_count, 'message')} above ────"
