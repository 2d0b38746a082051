"""Finds the end of the copy with which a fork of older versions begins. Pure.

Codex wrote the copy at once when the fork was made, so its lines have nearly the same time, however
long the original took. Later rows belong to the fork, and its turns have ids that were made later.
"""

import uuid
from datetime import datetime, timedelta

from trimpoint.sessionlogs.codex.rows import BROKEN, Row, decode_event

GAP = timedelta(milliseconds=250)
TURN_BEGINS = ("task_started", "turn_started")


def still_copied(before: str, row: Row, begun: str | None) -> str | None:
    """Returns the row's timestamp if it belongs to the same copy as the previous row, whose
    timestamp is `before`; otherwise None.

    :param begun: when the fork began; its own turns were created later.
    """
    if row.timestamp == before:
        return before
    earlier, later = _time(before), _time(row.timestamp)
    if earlier is None or later is None or not timedelta(0) <= later - earlier <= GAP:
        return None
    made = _turn_made_at(row)
    if made is not None and made >= (_time(begun) or earlier - GAP):
        return None
    return row.timestamp


def _turn_made_at(row: Row) -> datetime | None:
    """Returns when the turn that begins in this row was created, according to its id; None if no
    turn begins.
    """
    if row.type != "event_msg":
        return None
    try:
        event = decode_event(row.payload)
        if event.type not in TURN_BEGINS or event.turn_id is None:
            return None
        made = uuid.UUID(event.turn_id)
    except (*BROKEN, ValueError):
        return None
    return (
        datetime.fromtimestamp((made.int >> 80) / 1000).astimezone() if made.version == 7 else None
    )


def _time(timestamp: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(timestamp) if timestamp is not None else None
    except ValueError:
        return None
