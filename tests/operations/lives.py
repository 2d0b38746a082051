"""The rules that the messages about a thread keep, as one client receives them."""

from collections.abc import Iterable
from typing import Any


class UnlawfulMessage(AssertionError):
    """A client was sent a message that the life of a thread has no place for."""


class Life:
    """Follows what a client is told about one thread: turns begin, have items and questions, and
    end, one after the other.
    """

    def __init__(self) -> None:
        self.running: str | None = None
        self.ended: list[str] = []
        self.open_items: set[str] = set()
        self.questions: set[str] = set()
        self.heard: list[str] = []

    def take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        turn_id = params.get("turnId") or (params.get("turn") or {}).get("id")
        if method is None or turn_id is None:
            if method == "serverRequest/resolved":
                self.demand(params["requestId"] in self.questions, message)
                self.questions.discard(params["requestId"])
            return
        self.heard.append(f"{method} {turn_id}")
        match method:
            case "turn/started":
                self.demand(self.running is None and turn_id not in self.ended, message)
                self.running = turn_id
            case "turn/completed":
                self.demand(self.running == turn_id, message)
                self.running = None
                self.ended.append(turn_id)
            case _:
                self.demand(self.running == turn_id, message)
                if "id" in message:
                    self.questions.add(message["id"])

    def demand(self, is_so: bool, message: dict[str, Any]) -> None:
        if not is_so:
            raise UnlawfulMessage(f"{message} after {self.heard}")


def life_of(messages: Iterable[dict[str, Any]]) -> Life:
    """Returns what the messages tell.

    :raises UnlawfulMessage: when they tell what cannot be.
    """
    life = Life()
    for message in messages:
        life.take(message)
    return life
