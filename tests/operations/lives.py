"""The rules that the messages about a thread keep, as one client receives them."""

from collections.abc import Iterable
from typing import Any


class UnlawfulMessage(AssertionError):
    """A client was sent a message that the life of a thread has no place for."""


class Life:
    """Follows what a client is told about one thread: turns begin, have items and questions, and
    end, one after the other. A typed command is `played` as a turn beside them.
    """

    def __init__(self) -> None:
        self.running: str | None = None
        self.before: str | None = None
        self.ended: list[str] = []
        self.played: set[str] = set()
        self.questions: set[str] = set()
        self.heard: list[str] = []

    def take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        turn_id = params.get("turnId") or (params.get("turn") or {}).get("id")
        if method is not None and "id" in message:
            self.questions.add(message["id"])
        if method in (None, "thread/tokenUsage/updated") or turn_id is None:
            if method == "serverRequest/resolved":
                self.demand(params["requestId"] in self.questions, message)
                self.questions.discard(params["requestId"])
            return
        self.heard.append(f"{method} {turn_id}")
        match method:
            case "turn/started" if "rootTurnId" in params["turn"]:
                self.played.add(turn_id)
            case "turn/completed" if turn_id in self.played:
                self.played.discard(turn_id)
            case "turn/completed" if turn_id == self.before:
                self.before = None
            case "turn/completed" if self.running is None and params["turn"].get("error"):
                # The answer to the prompt told of it, and Codex died before it said more.
                self.demand(turn_id not in self.ended, message)
                self.ended.append(turn_id)
            case "turn/started":
                self.demand(self.running is None and turn_id not in self.ended, message)
                self.running = turn_id
            case "turn/completed":
                self.demand(self.running == turn_id, message)
                self.running = None
                self.ended.append(turn_id)
            case _:
                self.demand(turn_id in (self.running, *self.played), message)

    def demand(self, is_so: bool, message: dict[str, Any]) -> None:
        if not is_so:
            raise UnlawfulMessage(f"{message} after {self.heard}")


def life_of(messages: Iterable[dict[str, Any]], running: str | None = None) -> Life:
    """Returns what the messages tell to a client that came when the turn `running` was in the
    journal; it may be told the end of that one.

    :raises UnlawfulMessage: when they tell what cannot be.
    """
    life = Life()
    life.before = running
    for message in messages:
        life.take(message)
    return life
