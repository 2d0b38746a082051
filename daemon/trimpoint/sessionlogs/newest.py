"""Reads the newest entries of a long session from the end of its file.

Always true: they are those that a reading of the whole file would give, apart from the numbers of
messages and dividers, which only that has; and apart from rows that the part before has already.
"""

from trimpoint_protocol import unified as u
from trimpoint_protocol.readmodel import TimelineEntry

from trimpoint.sessionlogs.opening import opened, size_of
from trimpoint.sessionlogs.records import Records
from trimpoint.sessionlogs.sessions import FoundSession
from trimpoint.sessionlogs.text.lines import lines_of
from trimpoint.sessionlogs.timeline import dividers_of, timeline_of

# A shorter file is read whole as fast. The last part has to hold two compactions as a rule.
# Rows that came in another order have found their place within so many messages.
UNSETTLED_MESSAGES = 40
ENDING_BYTES = (2 * 1024 * 1024, 8 * 1024 * 1024, 32 * 1024 * 1024)


def newest_entries(session: FoundSession, limit: int) -> list[TimelineEntry] | None:
    """Returns the last `limit` entries; None if the whole file has to be read for them.

    :raises CannotRead: when the file cannot be read.
    """
    if session.ending is None or len(session.parts) != 1:
        return None
    size = size_of(session.parts[0][0])
    for ending in ENDING_BYTES:
        if size < 2 * ending:
            return None
        first = _read(session, size, size - ending)
        if first is not None:
            found = _read(session, size, size - ending, after=first)
            entries = _entries(found.ready) if found is not None else []
            if len(entries) >= limit:
                return entries[-limit:]
    return None


def _read(
    session: FoundSession, size: int, start: int, after: Records | None = None
) -> Records | None:
    """Reads the file from `start` on, for the first time or `after` that; None if that needs what
    stands before.
    """
    assert session.ending is not None
    [(path, part)] = session.parts
    records = (
        Records()
        if after is None
        else Records(after.window.fates(), clears=_clears(session, after))
    )
    reader = session.ending(records)
    reader.begin_part(part)
    with opened(path, size, start=start) as source:
        lines = lines_of(source)
        next(lines, None)  # a part of a line
        for line in lines:
            reader.feed(line)
    reader.finish()
    return None if reader.reaches_back else records


def _clears(session: FoundSession, read: Records) -> list[u.Clear]:
    """Returns the clears that were not before what was read."""
    began = read.first_timestamp or ""
    return [one for one in session.clears if (one.timestamp or "") > began]


def _entries(records: list[u.Record]) -> list[TimelineEntry]:
    """Returns the entries behind the first compaction, which took out an unknown number of
    messages, and behind the first messages, which may be the rest of an answer.
    """
    dividers = dividers_of(records)
    since = UNSETTLED_MESSAGES
    for at, one in enumerate(dividers):
        if isinstance(one.point, u.BoundaryRecord):
            since = max(since, one.point.after_message_index)
            del dividers[: at + 1]
            break
    known = [one for one in records if isinstance(one, u.MessageRecord) and one.index > since]
    behind = [one for one in dividers if one.point.after_message_index >= since]
    return list(timeline_of(known, behind, set()))
