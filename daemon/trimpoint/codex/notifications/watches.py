"""Watches, which follow a provider thread that no client sees, by its notifications."""

from typing import Any, NamedTuple, Protocol

import anyio
from msgspec import Raw

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import ending_of


class TurnOutcome(NamedTuple):
    """The outcome of a watched turn. `compacted` tells whether its `contextCompaction` item was
    completed, and `text` is its last answer.
    """

    turn_id: str
    status: str
    error: str
    compacted: bool
    text: str


class Watch(Protocol):
    """Receives the notifications of a provider thread that no client sees."""

    @property
    def turn_id(self) -> str | None:
        """Returns Codex's id of the thread's newest turn, or None before it has begun."""
        ...

    def on_message(self, message: CodexMessage) -> None:
        """Handles a notification or request about the thread."""
        ...

    def abort(self, reason: str) -> None:
        """Ends the wait, because Codex has ended."""
        ...


class TurnWatch:
    """Follows one turn of a temporary thread by its notifications."""

    def __init__(self) -> None:
        self.turn_id: str | None = None
        self.usage: Raw | None = None
        """The parameters of the newest notification about the thread's token usage."""
        self._ended = anyio.Event()
        self._outcome: TurnOutcome | None = None
        self._error = ""
        self._compacted = False
        self._text = ""

    def on_message(self, message: CodexMessage) -> None:
        """Handles a notification about the thread."""
        match message.method:
            case "turn/started":
                turn_id = message.object("turn").get("id")
                self.turn_id = turn_id if isinstance(turn_id, str) else self.turn_id
            case "error":
                self._error = str(message.object("error").get("message", ""))
            case "item/completed":
                self._on_item(message.object("item"))
            case "thread/tokenUsage/updated":
                self.usage = message.params.copy()
            case "turn/completed":
                self._end(message.object("turn"))
            case _:
                pass

    @property
    def has_ended(self) -> bool:
        """Returns whether the turn has ended."""
        return self._ended.is_set()

    def abort(self, reason: str) -> None:
        """Ends the turn as failed with this reason, because Codex has ended."""
        self._outcome = TurnOutcome(self.turn_id or "", "failed", reason, False, "")
        self._ended.set()

    async def outcome(self) -> TurnOutcome:
        """Waits for the end of the turn, and returns its outcome."""
        await self._ended.wait()
        assert self._outcome is not None
        return self._outcome

    def _on_item(self, item: dict[str, Any]) -> None:
        if item.get("type") == "contextCompaction":
            self._compacted = True
        elif item.get("type") == "agentMessage":
            self._text = str(item.get("text", ""))

    def _end(self, turn: dict[str, Any]) -> None:
        turn_id, ending = turn.get("id"), ending_of(turn)
        ended_id = turn_id if isinstance(turn_id, str) else self.turn_id or ""
        self._outcome = TurnOutcome(
            ended_id, ending.status, ending.error or self._error, self._compacted, self._text
        )
        self._ended.set()
