"""Turns and messages that only clients see: what trimpoint says in a transcript, in Codex's own form.

Nothing of them reaches the model or the ledger.
"""

import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from trimpoint.gateway.session.clients import Client, Clients, Delivery
from trimpoint.threads.ids import new_uuid7


class ShownTurn(msgspec.Struct, frozen=True):
    """A turn that only clients see."""

    thread_id: str
    turn_id: str
    began_s: float

    @classmethod
    def begun(cls, thread_id: str) -> "ShownTurn":
        """Return a turn that begins now."""
        return cls(thread_id, new_uuid7(), time.time())

    def as_object(self, status: str, error: str | None = None, said: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return Codex's `Turn`: with `said`, the last message, once it has ended (measured: 0.163)."""
        ended = status != "inProgress"
        return {
            "id": self.turn_id,
            "rootTurnId": self.turn_id,
            "items": [] if said is None else [said],
            "itemsView": "summary" if ended else "notLoaded",
            "status": status,
            "error": None if error is None else {"message": error, "codexErrorInfo": None, "additionalDetails": None},
            "startedAt": int(self.began_s),
            "completedAt": int(time.time()) if ended else None,
            "durationMs": round((time.time() - self.began_s) * 1000) if ended else None,
        }


class ShownTurns:
    """Sends them to the subscribers of a thread."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def started(self, turn: ShownTurn) -> None:
        """Send that the turn runs."""
        self._send(turn, "turn/started", turn=turn.as_object("inProgress"))

    def ended(self, turn: ShownTurn, error: str | None = None, said: dict[str, Any] | None = None) -> None:
        """Send that the turn has ended; `error` is why it failed."""
        status = "completed" if error is None else "failed"
        self._send(turn, "turn/completed", turn=turn.as_object(status, error, said))

    def item(self, turn: ShownTurn, item: dict[str, Any]) -> None:
        """Send an item of the turn."""
        now_ms = round(time.time() * 1000)
        text = item.get("text")
        # Many clients show what is streamed and nothing else, so an answer is streamed, as the agent's are.
        begun = item if text is None else {**item, "text": ""}
        self._send(turn, "item/started", item=begun, turnId=turn.turn_id, startedAtMs=now_ms)
        if text is not None:
            self._send(turn, "item/agentMessage/delta", turnId=turn.turn_id, itemId=item["id"], delta=text)
        self._send(turn, "item/completed", item=item, turnId=turn.turn_id, completedAtMs=now_ms)

    def _send(self, shown: ShownTurn, method: str, **params: Any) -> None:
        message = {"method": method, "params": {"threadId": shown.thread_id, **params}}
        self._clients.broadcast(shown.thread_id, method, lambda: msgspec.json.encode(message))


def say_to(clients: Iterable[Client], thread_id: str, text: str) -> None:
    """Send some clients a message that is part of no turn."""
    method = "item/completed"
    now_ms = round(time.time() * 1000)
    params = {"threadId": thread_id, "turnId": new_uuid7(), "item": agent_message(text), "completedAtMs": now_ms}
    Delivery(method, partial(msgspec.json.encode, {"method": method, "params": params})).to(clients)


def agent_message(text: str) -> dict[str, Any]:
    """Return an item that says `text`."""
    unknown = {"phase": None, "memoryCitation": None, "delivery": None, "questions": None}
    return {"type": "agentMessage", "id": new_uuid7(), "text": text, **unknown}


def user_message(content: list[Any], client_id: str | None) -> dict[str, Any]:
    """Return an item that holds what a person typed; `client_id` is the name that the client gave it."""
    return {"type": "userMessage", "id": new_uuid7(), "clientId": client_id, "content": content}
