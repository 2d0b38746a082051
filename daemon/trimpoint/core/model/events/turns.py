"""Events of turns: prompts, entries, raw items, token usage, requests of Codex, ends of turns."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event

ACCEPTED_FOR_SESSION = "accepted for session"
"""The outcome of a request whose answer holds until the session ends, and therefore not after a
trim.
"""

CONTEXT_WINDOW_EXCEEDED = "contextWindowExceeded"
"""The `error_kind` of a turn whose context did not fit into the model's window."""


PAUSED = "paused"
"""The `error_kind` of a turn that the daemon has ended to mask old output; the next one goes on
with its work.
"""

PART, REST = "part", "rest"
"""The extents of an entry that is not recorded at once and whole."""


class TurnRequested(Event, frozen=True, array_like=True, tag="thread.turn-requested"):
    """A prompt was sent to Codex; the thread is busy from now on."""

    request_id: str


class TurnRequestEnded(Event, frozen=True, array_like=True, tag="thread.turn-request-ended"):
    """Codex answered the request for a turn: it accepted it as turn `turn_id`, or `error` says why
    it refused.
    """

    request_id: str
    turn_id: str | None = None
    error: str = ""


class TurnStarted(Event, frozen=True, array_like=True, tag="thread.turn-started"):
    """Codex started a turn in `generation`."""

    turn_id: str
    generation: int


class EntryRecorded(Event, frozen=True, array_like=True, tag="thread.entry-recorded"):
    """An entry of the ledger.

    `kind`: message | activity; `role`: user | assistant for messages, the item type for activities.
    `text` is the text of the message or a one-line title of the activity. `detail` is Codex's item
    (JSON) if it holds more than the text, else empty. `extent`: empty for a finished item | part
    (the turn ended in the middle of an answer: what clients were sent of it, which the model does
    not have) | rest (the item was finished after all; it takes the place of its part).
    `client_id` is the id that a client gave a prompt, which the agent has read; empty if none.
    """

    turn_id: str
    entry_id: str
    kind: str
    role: str
    text: str
    detail: bytes = b""
    extent: str = ""
    client_id: str = ""


class ContextItemsRecorded(
    Event, frozen=True, array_like=True, tag="thread.context-items-recorded"
):
    """Raw items of a turn as the model saw them (JSON), in order, without the preamble.

    `source`: events (appended to the recorded items) | rollout (all items of the turn; they replace
    the recorded ones). `injected` is the number of items at the end that a client injected after
    the turn had ended.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items"})
    turn_id: str
    items: tuple[bytes, ...]
    source: str = "events"
    injected: int = 0


class ItemsInjected(Event, frozen=True, array_like=True, tag="thread.items-injected"):
    """A client injected these raw items (JSON) while the active context had no turn. They are
    placed before the next turn.
    """

    private: ClassVar[frozenset[str]] = frozenset({"items"})
    items: tuple[bytes, ...]


class UsageReported(Event, frozen=True, array_like=True, tag="thread.usage-reported"):
    """Codex reported token usage. `last_total` is the number of tokens in the context now; `window`
    is None if Codex does not report the size of the model's window.

    `input`, `cached_input`, `output` and `reasoning_output` are of one model call (cached_input is
    part of input, reasoning_output is part of output). All four are 0 if Codex only estimates the
    size of the context, as after its own compaction.
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
    """The person `asked_by` on another machine requested the end of the turn. How the turn ended is
    in another event.
    """

    turn_id: str
    asked_by: str


class TurnCompleted(Event, frozen=True, array_like=True, tag="thread.turn-completed"):
    """A turn ended. `status`: completed | interrupted | failed; `error` is the message of Codex.

    `items_heard` is False if the daemon missed part of the turn, so that its raw items must be read
    from the rollout. `error_kind` is Codex's name for the kind of error, such as
    contextWindowExceeded, or `paused`, and empty if there is none.
    """

    turn_id: str
    status: str
    error: str | None = None
    items_heard: bool = True
    error_kind: str = ""


class TurnsRolledBack(Event, frozen=True, array_like=True, tag="thread.turns-reverted"):
    """The turn `turn_id`, all later turns and the trim points after it no longer belong to the
    thread. Files were not changed.
    """

    turn_id: str


class RequestOpened(Event, frozen=True, array_like=True, tag="thread.request-opened"):
    """Codex sent a request to the client, such as an approval, and waits for the answer."""

    request_id: str
    method: str


class RequestClosed(Event, frozen=True, array_like=True, tag="thread.request-closed"):
    """A request of Codex was closed. `outcome`: answered | accepted for session | refused (by every
    client) | resolved (by Codex) | expired.

    A request expires when the session that sent it ends.
    """

    request_id: str
    outcome: str
