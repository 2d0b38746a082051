"""The live window of a session: what the model would see next, in order. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from trimpoint_protocol import unified as u


class Summary(NamedTuple):
    """A summary without a message of its own. `text` is None where only its provider reads it."""

    text: str | None
    replaced: int


class LiveWindow(NamedTuple):
    """The session, and what its window holds, in the order in which the model sees it.

    `summaries` are those that have a message of their own, by its index.
    """

    session: u.Session
    items: list[u.MessageRecord | Summary]
    summaries: dict[int, Summary]


def live_window(records: Iterable[u.Record]) -> LiveWindow:
    """Returns what is live. A summary stands behind what was kept from before it in Codex's window,
    and before what was kept in those of others, unless the beginning was kept.
    """
    session: u.Session | None = None
    messages: list[u.MessageRecord] = []
    boundary: u.BoundaryRecord | None = None
    summaries: dict[int, Summary] = {}
    for record in records:
        match record:
            case u.SessionRecord():
                session = record.session
            case u.MessageRecord(active=True):
                messages.append(record)
            case u.BoundaryRecord(undone=False):
                boundary = record
                if record.summary_message_index is not None:
                    summaries[record.summary_message_index] = _summary(record)
            case _:
                continue
    assert session is not None
    return LiveWindow(session, _ordered(messages, boundary), summaries)


def _summary(boundary: u.BoundaryRecord) -> Summary:
    return Summary(boundary.summary, len(boundary.replaced_message_indices))


def _ordered(
    messages: list[u.MessageRecord], boundary: u.BoundaryRecord | None
) -> list[u.MessageRecord | Summary]:
    if boundary is None:
        return [*messages]
    before = [one for one in messages if _is_before(one, boundary)]
    after = [one for one in messages if not _is_before(one, boundary)]
    own = boundary.summary_message_index
    if own is None:
        return [*before, _summary(boundary), *after]
    if boundary.trigger == "manual_partial":
        return [*before, *after]
    opening = [one for one in after if one.index == own or _answers_summary(one, own)]
    return [*opening, *before, *(one for one in after if one not in opening)]


def _answers_summary(message: u.MessageRecord, summary: int) -> bool:
    """Returns whether a message is the answer that Gemini CLI puts behind a summary."""
    return message.index == summary + 1 and message.role == "assistant"


def _is_before(message: u.MessageRecord, boundary: u.BoundaryRecord) -> bool:
    """Returns whether a message was kept from before the boundary; what that expanded counts as
    kept.
    """
    if message.index <= boundary.after_message_index:
        return True
    return message.synthetic and message.source_ref == boundary.source_ref
