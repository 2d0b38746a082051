"""Watches follow one Codex thread that no client sees, through its notifications."""

from typing import Any, NamedTuple, Protocol

import anyio
from msgspec import Raw

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import ending_of


class TurnOutcome(NamedTuple):
    """The outcome of a watched turn. `compacted`: its `contextCompaction` item completed; `text`:
    the last answer in it.
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
        """Codex's id of the turn that runs or ran in it."""
        ...

    def on_message(self, message: CodexMessage) -> None:
        """Takes one notification or request of the thread."""
        ...

    def abort(self, reason: str) -> None:
        """Ends the wait, because the session has ended."""
        ...


class TurnWatch:
    """Follows the turn of a scratch thread through its notifications; at most one turn at a
    time.
    """

    def __init__(self) -> None:
        self.turn_id: str | None = None
        self.usage: Raw | None = None
        """What was last said of the thread's tokens, as it came."""
        self._ended = anyio.Event()
        self._outcome: TurnOutcome | None = None
        self._error = ""
        self._compacted = False
        self._text = ""

    def on_message(self, message: CodexMessage) -> None:
        """Takes one notification or request of the thread."""
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
        """Returns whether the turn is over."""
        return self._ended.is_set()

    def abort(self, reason: str) -> None:
        """Ends the wait, because the session has ended."""
        self._outcome = TurnOutcome(self.turn_id or "", "failed", reason, False, "")
        self._ended.set()

    async def outcome(self) -> TurnOutcome:
        """Wait for the turn's end."""
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
