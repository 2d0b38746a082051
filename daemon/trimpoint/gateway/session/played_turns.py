"""Played turns: typed commands that clients see as turns. A client can read and interrupt them like
any turn.

They are not in the ledger: a played turn is listed while it runs, and disappears when it has ended.
"""

import time
from typing import Any

import anyio
import msgspec
from msgspec import Raw

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.gateway.session.requests.request import ClientRequest, Handler

# Answers in which Codex shows a thread's newest turn.
SHOW_TURNS = ("thread/read", "thread/resume", "thread/turns/list")


class PlayedTurn(msgspec.Struct, eq=False):
    """A typed command shown as a turn. `command` is the command's name, `prompt` the item that the
    turn begins with.
    """

    thread_id: str
    turn_id: str
    command: str
    prompt: dict[str, Any]
    began_s: float
    operation_id: str | None = None
    """The operation that the command started; None before that."""
    is_unwanted: bool = False
    """Whether a client has interrupted it."""
    asking: anyio.CancelScope | None = None
    """Set while a person is asked for a missing argument; cancelling it withdraws the question."""
    ended: anyio.Event = msgspec.field(default_factory=anyio.Event)

    def as_object(
        self, status: str = "inProgress", error: str | None = None, items: list[Any] | None = None
    ) -> dict[str, Any]:
        """Returns the turn as Codex's `Turn` object (measured: 0.163). `error` is the message of a
        failed turn, and `items` are the turn's items.
        """
        ended = status != "inProgress"
        return {
            "id": self.turn_id,
            "rootTurnId": self.turn_id,
            "items": items or [],
            "itemsView": "summary" if ended else "notLoaded",
            "status": status,
            "error": None
            if error is None
            else {"message": error, "codexErrorInfo": None, "additionalDetails": None},
            "startedAt": int(self.began_s),
            "completedAt": int(time.time()) if ended else None,
            "durationMs": round((time.time() - self.began_s) * 1000) if ended else None,
        }


class PlayedTurns:
    """The played turns that are running."""

    def __init__(self) -> None:
        self._turns: dict[str, PlayedTurn] = {}

    def add(self, turn: PlayedTurn) -> None:
        """Adds a played turn that begins."""
        self._turns[turn.turn_id] = turn

    def remove(self, turn: PlayedTurn) -> None:
        """Removes a played turn that has ended, and sets its `ended`."""
        self._turns.pop(turn.turn_id, None)
        turn.ended.set()

    def by_id(self, turn_id: str) -> PlayedTurn | None:
        """Returns the running played turn with this id, or None."""
        return self._turns.get(turn_id)

    def runs_in(self, thread_id: str) -> bool:
        """Returns whether a played turn is executing in the thread; one that waits for a person's
        choice does not count.
        """
        return any(turn.asking is None for turn in self._of(thread_id))

    def shown_for_operation(self, thread_id: str) -> PlayedTurn | None:
        """Returns the played turn whose command started the thread's operation, or None."""
        return next((turn for turn in self._of(thread_id) if turn.operation_id is not None), None)

    def as_its_own(self, thread_id: str, message: CodexMessage) -> CodexMessage | None:
        """Returns a notification about a compaction's turn, changed to name the played turn that
        asked for the compaction.

        Returns None for the start and end of that turn, which the played turn reports itself.
        """
        turn = self.shown_for_operation(thread_id)
        if turn is None:
            return message
        if message.method in ("turn/started", "turn/completed"):
            return None
        return (
            message
            if message.raw("turnId") is None
            else message.with_member("turnId", turn.turn_id)
        )

    def wrap(self, handlers: dict[str, Handler]) -> dict[str, Handler]:
        """Returns the handlers, with those that show a thread's turns changed to include its played
        turns.
        """
        return {**handlers, **{method: self._showing(handlers[method]) for method in SHOW_TURNS}}

    def _of(self, thread_id: str) -> list[PlayedTurn]:
        return [turn for turn in self._turns.values() if turn.thread_id == thread_id]

    def _showing(self, inner: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            if self._turns:
                client_request.amend = lambda result: self._with_own(client_request, result)
            return await inner(client_request)

        return handle

    def _with_own(self, client_request: ClientRequest, result: Any) -> Any:
        params = client_request.params()
        own = self._of(str(params.get("threadId")))
        if not own:
            return result
        answer = as_dict(msgspec.json.decode(result) if isinstance(result, bytes | Raw) else result)
        if client_request.method == "thread/turns/list":
            return {**answer, "data": _listed(as_list(answer.get("data")), own, params)}
        thread = as_dict(answer.get("thread"))
        wants_turns = (
            params.get("includeTurns")
            if client_request.method == "thread/read"
            else not params.get("excludeTurns")
        )
        turns = [
            *as_list(thread.get("turns")),
            *(_listed_turn(turn) for turn in own if wants_turns),
        ]
        return {
            **answer,
            "thread": {**thread, "turns": turns, "status": {"type": "active", "activeFlags": []}},
        }


def _listed(turns: list[Any], own: list[PlayedTurn], params: dict[str, Any]) -> list[Any]:
    """Returns a page of turns with the running played turns added, if it is the first page in
    descending order.
    """
    if params.get("cursor") is not None or params.get("sortDirection") == "asc":
        return turns
    return [*(_listed_turn(turn) for turn in reversed(own)), *turns]


def _listed_turn(turn: PlayedTurn) -> dict[str, Any]:
    return {**turn.as_object(items=[turn.prompt]), "itemsView": "full"}
