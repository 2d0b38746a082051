"""Played turns: typed commands that clients see as turns. A client can read and interrupt them like
any turn.

They are not in the ledger: a played turn is listed while it runs, and disappears when it has ended.
So is the turn of a compaction that no typed command has begun.
"""

import time
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.session.compaction_turns import CompactionTurns
from trimpoint.gateway.session.requests.request import ClientRequest, Handler

# Answers in which Codex shows a thread's newest turn, or whether one is running.
SHOW_TURNS = (
    "thread/read", "thread/resume", "thread/turns/list", "thread/list", "thread/metadata/update",
)  # fmt: skip
_ACTIVE: dict[str, Any] = {"type": "active", "activeFlags": []}


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
    """The played turns that are running, and the turns of other `compactions`."""

    def __init__(self, compactions: CompactionTurns) -> None:
        self.compactions = compactions
        self._turns: dict[str, PlayedTurn] = {}

    def add(self, turn: PlayedTurn) -> None:
        """Adds a played turn that begins."""
        self._turns[turn.turn_id] = turn

    def remove(self, turn: PlayedTurn) -> None:
        """Removes a played turn that has ended, and sets its `ended`."""
        self._turns.pop(turn.turn_id, None)
        turn.ended.set()

    def running(self, thread_id: str | None, turn_id: str) -> PlayedTurn | None:
        """Returns the thread's running played turn with this id, or None."""
        turn = self._turns.get(turn_id)
        return turn if turn is not None and turn.thread_id == thread_id else None

    def newest(self, thread_id: str) -> PlayedTurn | None:
        """Returns the thread's newest running played turn, or None."""
        return next(reversed(self._of(thread_id)), None)

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
            # A turn may begin before the answer.
            client_request.amend = lambda result: self._with_own(client_request, result)
            return await inner(client_request)

        return handle

    def _with_own(self, client_request: ClientRequest, result: Any) -> Any:
        if not self._turns and not self.compactions:
            return result
        params = client_request.params()
        answer = as_dict(msgspec.json.decode(result) if isinstance(result, bytes | Raw) else result)
        if client_request.method == "thread/list":
            return {**answer, "data": [self._with_status(row) for row in as_list(answer["data"])]}
        own = self._listed_in(str(params.get("threadId")))
        if not own:
            return result
        if client_request.method == "thread/turns/list":
            return _with_listed(answer, own, params)
        thread = as_dict(answer.get("thread"))
        wants_turns = (
            not params.get("excludeTurns")
            if client_request.method == "thread/resume"
            else params.get("includeTurns")
        )
        turns = [*as_list(thread.get("turns")), *(own if wants_turns else ())]
        page = answer.get("initialTurnsPage")
        if page is not None:
            asked = as_dict(params.get("initialTurnsPage"))
            answer = {**answer, "initialTurnsPage": _with_listed(as_dict(page), own, asked)}
        return {**answer, "thread": {**thread, "turns": turns, "status": _ACTIVE}}

    def _with_status(self, row: Any) -> Any:
        thread_id = str(row.get("id"))
        is_active = self.compactions.runs_in(thread_id) or self._of(thread_id)
        return {**row, "status": _ACTIVE} if is_active else row

    def _listed_in(self, thread_id: str) -> list[dict[str, Any]]:
        """Returns the thread's turns that are running here and not in its Codex thread."""
        played = [
            {**turn.as_object(items=[turn.prompt]), "itemsView": "full"}
            for turn in self._of(thread_id)
        ]
        return [*self.compactions.of(thread_id), *played]


def _with_listed(
    page: dict[str, Any], own: list[dict[str, Any]], params: dict[str, Any]
) -> dict[str, Any]:
    """Returns a page of turns with the running turns added, if it is the one with the newest."""
    turns = as_list(page.get("data"))
    if params.get("sortDirection") == "asc":
        has_newest = page.get("nextCursor") is None
        return {**page, "data": [*turns, *own]} if has_newest else page
    return page if params.get("cursor") is not None else {**page, "data": [*own[::-1], *turns]}
