"""Events of turns: prompts, entries, raw items, tokens, questions of the agent, ends of turns."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event

ACCEPTED_FOR_SESSION = "accepted for session"
"""The outcome of a question whose answer holds until the session ends, and so not beyond a trim."""

CONTEXT_WINDOW_EXCEEDED = "contextWindowExceeded"
"""The error of a turn whose context no longer fitted into the model's window."""


class TurnRequested(Event, frozen=True, array_like=True, tag="thread.turn-requested"):
    """A prompt is on its way to the provider; the thread is busy from here on."""

    request_id: str


class TurnRequestEnded(Event, frozen=True, array_like=True, tag="thread.turn-request-ended"):
    """The provider answered the request: `turn_id` when it took it, else `error` says why not."""

    request_id: str
    turn_id: str | None = None
    error: str = ""


class TurnStarted(Event, frozen=True, array_like=True, tag="thread.turn-started"):
    """The provider began to answer in `generation`."""

    turn_id: str
    generation: int


class EntryRecorded(Event, frozen=True, array_like=True, tag="thread.entry-recorded"):
    """A finished entry.

    `kind`: message | activity; `role`: user | assistant for messages, the item type for activities.
    `text` is the message's text or the activity's one-line title; `detail` is the provider's item,
    JSON, where text is not all.
    """

    turn_id: str
    entry_id: str
    kind: str
    role: str
    text: str
    detail: bytes = b""


class ContextItemsRecorded(
    Event, frozen=True, array_like=True, tag="thread.context-items-recorded"
):
    """Items of the turn exactly as the model saw them, JSON, in order, preamble left out.

    `source`: events (appended to what is recorded) | rollout (all of the turn's items, replacing
    what is recorded). `injected`: so many of the last ones were put there by a client after the
    turn had ended.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items"})
    turn_id: str
    items: tuple[bytes, ...]
    source: str = "events"
    injected: int = 0


class UsageReported(Event, frozen=True, array_like=True, tag="thread.usage-reported"):
    """Tokens: `last_total` is what the context holds now; `window` is None when the provider does
    not say.

    `input`, `cached_input`, `output` and `reasoning_output` are of this one model call (cached is
    part of input, reasoning part of output); all are 0 where the provider only estimates what the
    context holds, as after its own compaction.
    """

    turn_id: str
    last_total: int
    total: int
    window: int | None = None
    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning_output: int = 0


class TurnInterruptRequested(
    Event, frozen=True, array_like=True, tag="thread.turn-interrupt-requested"
):
    """Someone on another machine, `asked_by`, asked that the turn be ended; how it ended is another
    event.
    """

    turn_id: str
    asked_by: str


class TurnCompleted(Event, frozen=True, array_like=True, tag="thread.turn-completed"):
    """`status`: completed | interrupted | failed; `error` is the provider's own message.

    `items_heard` is False when the daemon missed part of the turn, so that its raw items must come
    from the rollout. `error_kind` is the provider's word for the error, "" when it has none:
    contextWindowExceeded, other, …
    """

    turn_id: str
    status: str
    error: str | None = None
    items_heard: bool = True
    error_kind: str = ""


class TurnsRolledBack(Event, frozen=True, array_like=True, tag="thread.turns-reverted"):
    """This turn and all after it are no longer part of the thread, nor are the trim points after
    it; files are as they were.
    """

    turn_id: str


class RequestOpened(Event, frozen=True, array_like=True, tag="thread.request-opened"):
    """The agent asks something and waits."""

    request_id: str
    method: str


class RequestClosed(Event, frozen=True, array_like=True, tag="thread.request-closed"):
    """`outcome`: answered | accepted for session | refused (by every client) | resolved (by the
    provider) | expired.

    A question expires when the session that asked is gone.
    """

    request_id: str
    outcome: str
