"""The live window of a session: what the model would see next, in order. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from trimpoint_protocol import unified as u


class Summary(NamedTuple):
    """A summary without a message of its own. `text` is None where only its provider reads it."""

    text: str | None
    replaced: int


class LiveWindow(NamedTuple):
    """The session, and what its window holds, oldest first."""

    session: u.Session
    items: list[u.MessageRecord | Summary]


def live_window(records: Iterable[u.Record]) -> LiveWindow:
    """Returns what is live, with the newest summary behind what was kept when it was made."""
    session: u.Session | None = None
    messages: list[u.MessageRecord] = []
    boundary: u.BoundaryRecord | None = None
    for record in records:
        match record:
            case u.SessionRecord():
                session = record.session
            case u.MessageRecord(active=True):
                messages.append(record)
            case u.BoundaryRecord(undone=False):
                boundary = record
            case _:
                continue
    assert session is not None
    return LiveWindow(session, _with_summary(messages, boundary))


def _with_summary(
    messages: list[u.MessageRecord], boundary: u.BoundaryRecord | None
) -> list[u.MessageRecord | Summary]:
    if boundary is None or boundary.summary_message_index is not None:
        return [*messages]
    before = [one for one in messages if _is_before(one, boundary)]
    after = [one for one in messages if not _is_before(one, boundary)]
    return [*before, Summary(boundary.summary, len(boundary.replaced_message_indices)), *after]


def _is_before(message: u.MessageRecord, boundary: u.BoundaryRecord) -> bool:
    """Returns whether the summary stands behind the message; what it expanded stands with it."""
    if message.index <= boundary.after_message_index:
        return True
    return message.synthetic and message.source_ref == boundary.source_ref
