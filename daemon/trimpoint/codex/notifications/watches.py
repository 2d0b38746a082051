"""Watches follow one Codex thread that no client sees, through its notifications."""

from typing import Any, NamedTuple, Protocol

import anyio
import msgspec
from msgspec import Raw

from trimpoint.core.model.lenient import as_dict


class TurnOutcome(NamedTuple):
    """How a watched turn ended. `compacted`: its `contextCompaction` item completed; `text`: the last answer in it."""

    turn_id: str
    status: str
    error: str
    compacted: bool
    text: str


class Watch(Protocol):
    """Hears what is said of a provider thread that nobody else hears in full."""

    @property
    def turn_id(self) -> str | None:
        """Codex's id of the turn that runs or ran in it."""
        ...

    def on_notification(self, method: str, params: Raw) -> None:
        """Take one notification of the thread."""
        ...

    def abort(self, reason: str) -> None:
        """The session is gone."""
        ...


class TurnWatch:
    """Follows the turn of a scratch thread through its notifications; at most one turn at a time."""

    def __init__(self) -> None:
        self.turn_id: str | None = None
        self.usage: Raw | None = None
        """What was last said of the thread's tokens, as it came."""
        self._ended = anyio.Event()
        self._outcome: TurnOutcome | None = None
        self._error = ""
        self._compacted = False
        self._text = ""

    def on_notification(self, method: str, params: Raw) -> None:
        """Take one notification of the thread."""
        match method:
            case "turn/started":
                self.turn_id = _decode(params)["turn"]["id"]
            case "error":
                self._error = str(as_dict(_decode(params).get("error")).get("message", ""))
            case "item/completed":
                self._on_item(_decode(params).get("item", {}))
            case "thread/tokenUsage/updated":
                self.usage = params.copy()
            case "turn/completed":
                self._end(_decode(params)["turn"])
            case _:
                pass

    def abort(self, reason: str) -> None:
        """The session is gone."""
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
        error = as_dict(turn.get("error")).get("message") or self._error
        self._outcome = TurnOutcome(turn["id"], turn.get("status", ""), str(error), self._compacted, self._text)
        self._ended.set()


def _decode(raw: Raw) -> Any:
    return msgspec.json.decode(raw)
