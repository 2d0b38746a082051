"""Computes the live context of a session: what the model would receive next, in order. Pure."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from trimpoint_protocol import unified as u

# More than any model's window holds, and little enough for a small daemon.
MAX_WINDOW_BYTES = 32 * 1024 * 1024
OVERHEAD_BYTES = 500


class Summary(NamedTuple):
    """A summary that has no message of its own. `text` is None if it is encrypted."""

    text: str | None
    replaced: int


class LiveWindow(NamedTuple):
    """The session and the content of its live context, in the order in which the model sees it.

    `summaries` are those that have a message of their own, by its index. `dropped` counts the
    oldest messages of a context that is larger than any model's.
    """

    session: u.Session
    items: list[u.MessageRecord | Summary]
    summaries: dict[int, Summary]
    dropped: int = 0


class _Newest:
    """The newest messages up to a size; older ones are dropped, except summaries."""

    def __init__(self) -> None:
        self._messages: deque[u.MessageRecord] = deque()
        self._summaries: list[u.MessageRecord] = []
        self._bytes = 0
        self.dropped = 0

    def add(self, message: u.MessageRecord) -> None:
        """Adds a message."""
        if message.kind == "summary":
            self._summaries.append(message)
            return
        self._messages.append(message)
        self._bytes += _size(message)
        while self._bytes > MAX_WINDOW_BYTES and len(self._messages) > 1:
            self._bytes -= _size(self._messages.popleft())
            self.dropped += 1

    def all(self) -> list[u.MessageRecord]:
        """Returns the remaining messages, in the order of the log."""
        return sorted((*self._summaries, *self._messages), key=lambda one: one.index)


def _size(message: u.MessageRecord) -> int:
    return OVERHEAD_BYTES + len(message.text) + sum(len(one.output) for one in message.tool_results)


def live_window(records: Iterable[u.Record]) -> LiveWindow:
    """Returns the live context. In Codex a summary comes after the messages that were kept from
    before it; in other agents before them, unless the beginning was kept.
    """
    session: u.Session | None = None
    newest = _Newest()
    boundaries: list[u.BoundaryRecord] = []
    summaries: dict[int, Summary] = {}
    for record in records:
        match record:
            case u.SessionRecord():
                session = record.session
            case u.MessageRecord(active=True):
                newest.add(record)
            case u.BoundaryRecord(undone=False):
                boundaries.append(record)
                if record.summary_message_index is not None:
                    summaries[record.summary_message_index] = _summary(record)
            case _:
                continue
    assert session is not None
    ordered = _ordered(session.agent, newest.all(), boundaries)
    return LiveWindow(session, ordered, summaries, newest.dropped)


def _summary(boundary: u.BoundaryRecord) -> Summary:
    return Summary(boundary.summary, len(boundary.replaced_message_indices))


def _ordered(
    agent: u.Agent, messages: list[u.MessageRecord], boundaries: list[u.BoundaryRecord]
) -> list[u.MessageRecord | Summary]:
    """Returns the messages in the order that results from the boundaries."""
    placed: list[u.MessageRecord | Summary] = []
    left = messages
    for boundary in sorted(boundaries, key=lambda one: one.after_message_index):
        placed += [one for one in left if _is_before(one, boundary)]
        left = [one for one in left if not _is_before(one, boundary)]
        own = boundary.summary_message_index
        if own is None:
            if boundary is boundaries[-1]:
                placed += [_summary(boundary)] if _has_summary(boundary) else []
            elif (kept := _kept_summary(boundary, boundaries, left)) is not None:
                placed.append(kept)
                left = [one for one in left if one is not kept]
        elif not _keeps_beginning(boundary):
            opening = [one for one in left if _opens(one, own, agent)]
            placed = [*opening, *placed]
            left = [one for one in left if not _opens(one, own, agent)]
    return _with_results_behind_calls([*placed, *left]) if agent == "claude" else [*placed, *left]


def _with_results_behind_calls(
    items: list[u.MessageRecord | Summary],
) -> list[u.MessageRecord | Summary]:
    """Moves each result behind its call. Claude Code sends it there, although the log has a prompt
    before it that was typed while the tool ran (measured: 2.1.332).
    """
    placed: list[u.MessageRecord | Summary] = []
    for item in items:
        at = len(placed)
        if isinstance(item, u.MessageRecord) and item.role == "tool":
            while at and _is_from_person(placed[at - 1]):
                at -= 1
            if not at or not _may_precede(placed[at - 1], item):
                at = len(placed)
        placed.insert(at, item)
    return placed


def _is_from_person(item: u.MessageRecord | Summary) -> bool:
    return isinstance(item, u.MessageRecord) and item.role == "user"


def _may_precede(item: u.MessageRecord | Summary, result: u.MessageRecord) -> bool:
    """Returns whether an item is the call of a result, or another result."""
    if not isinstance(item, u.MessageRecord):
        return False
    calls = {call.id for call in item.tool_calls}
    return item.role == "tool" or any(one.call_id in calls for one in result.tool_results)


def _has_summary(boundary: u.BoundaryRecord) -> bool:
    """Returns whether there is a summary; a log may have been cut off before it."""
    return boundary.summary is not None or boundary.summary_encrypted


def _kept_summary(
    boundary: u.BoundaryRecord, boundaries: list[u.BoundaryRecord], later: list[u.MessageRecord]
) -> u.MessageRecord | None:
    """Returns the summary of a boundary, if a later boundary of Codex kept it as a message: by its
    text, or the one that the next boundary kept and that is no other boundary's.
    """
    kept = [one for one in later if one.kind == "summary" and one.synthetic]
    by_text = next((one for one in kept if _repeats_summary(one, boundary)), None)
    if by_text is not None:
        return by_text
    after = boundaries[boundaries.index(boundary) + 1]
    return next(
        (
            one
            for one in kept
            if one.source_ref == after.source_ref
            and not any(_repeats_summary(one, b) for b in boundaries)
        ),
        None,
    )


def _repeats_summary(message: u.MessageRecord, boundary: u.BoundaryRecord) -> bool:
    return bool(boundary.summary) and message.text.endswith(boundary.summary or "")


def _keeps_beginning(boundary: u.BoundaryRecord) -> bool:
    """Returns whether the first messages were kept, so that the summary comes after them."""
    kept, replaced = boundary.kept_message_indices, boundary.replaced_message_indices
    if kept and not replaced and boundary.trigger == "manual_partial":
        return max(kept) <= boundary.after_message_index  # a copy, without what was replaced
    return bool(kept and replaced) and max(kept) < min(replaced)


def _opens(message: u.MessageRecord, summary: int, agent: u.Agent) -> bool:
    """Returns whether a message is the summary, or the answer that Gemini CLI adds after it."""
    if message.index == summary:
        return True
    return agent == "gemini" and message.index == summary + 1 and message.role == "assistant"


def _is_before(message: u.MessageRecord, boundary: u.BoundaryRecord) -> bool:
    """Returns whether a message was kept from before the boundary; expanded messages of the
    boundary count as kept.
    """
    if message.index <= boundary.after_message_index:
        return True
    return message.synthetic and message.source_ref == boundary.source_ref
