"""Carries out slash commands that are typed as prompts, so that any client has them unchanged.

The client sees a turn whose answer is the command's message. Nothing of it reaches the model or the
ledger (docs/spec/clients.md).
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from trimpoint_protocol.methods import CommandProgress

from trimpoint.core.model import slash
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.gateway.commands.slash_runner import SlashRunner
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.errors import as_wire_error
from trimpoint.gateway.session.request import ClientRequest
from trimpoint.threads.ids import new_uuid7

Handler = Callable[[ClientRequest], Awaitable[Any]]


class TypedCommands:
    """`turn_start` stands before the handler that sends prompts to the agent."""

    def __init__(self, clients: Clients, identity: Identity, runner: SlashRunner, prompt: Handler) -> None:
        self._clients = clients
        self._identity = identity
        self._runner = runner
        self._prompt = prompt

    async def turn_start(self, client_request: ClientRequest) -> Any:
        """`turn/start`: run the command if the input is one, else pass it on."""
        params = client_request.params()
        text = sole_text(params.get("input"))
        thread_id = self._identity.thread_of(str(params.get("threadId")))
        if text is None or thread_id is None or isinstance(slash.parse(text), slash.NotACommand):
            return await self._prompt(client_request)
        client_request.client.join(thread_id)
        turn = _Turn(thread_id, new_uuid7(), time.time())
        client_request.answer({"turn": turn.as_object("inProgress")})
        await self._run_command(turn, text)
        return None

    async def _run_command(self, turn: "_Turn", text: str) -> None:
        self._send(turn, "turn/started", turn=turn.as_object("inProgress"))
        self._send_item(turn, {"type": "userMessage", "id": new_uuid7(), "clientId": None, "content": [_text_input(text)]})
        try:
            outcome = await self._runner.run(text, turn.thread_id, None, _ignore)
            answer, error = str(outcome.message), None
        except Exception as failure:  # the boundary: the request was answered, so the turn must be ended
            answer, error = "", as_wire_error(failure).message
        said = _agent_message(answer) if answer else None
        if said:
            self._send_item(turn, said)
        status = "completed" if error is None else "failed"
        self._send(turn, "turn/completed", turn=turn.as_object(status, error, said))

    def _send_item(self, turn: "_Turn", item: dict[str, Any]) -> None:
        now_ms = round(time.time() * 1000)
        text = item.get("text")
        # Many clients show what is streamed and nothing else, so an answer is streamed, as the agent's are.
        begun = item if text is None else {**item, "text": ""}
        self._send(turn, "item/started", item=begun, turnId=turn.turn_id, startedAtMs=now_ms)
        if text is not None:
            self._send(turn, "item/agentMessage/delta", turnId=turn.turn_id, itemId=item["id"], delta=text)
        self._send(turn, "item/completed", item=item, turnId=turn.turn_id, completedAtMs=now_ms)

    def _send(self, played: "_Turn", method: str, **params: Any) -> None:
        message = {"method": method, "params": {"threadId": played.thread_id, **params}}
        self._clients.broadcast(played.thread_id, method, lambda: msgspec.json.encode(message))


class _Turn(msgspec.Struct, frozen=True):
    """A turn that only clients see."""

    thread_id: str
    turn_id: str
    began_s: float

    def as_object(self, status: str, error: str | None = None, said: dict[str, Any] | None = None) -> dict[str, Any]:
        """Codex's `Turn`: with `said`, the last message, once it has ended (measured: 0.163)."""
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


def sole_text(turn_input: Any) -> str | None:
    """The text of an input that is one text and nothing else; a command stands alone."""
    parts = as_list(turn_input)
    only = as_dict(parts[0]) if len(parts) == 1 else {}
    text = only.get("text")
    return text if only.get("type") == "text" and isinstance(text, str) else None


def _agent_message(text: str) -> dict[str, Any]:
    unknown = {"phase": None, "memoryCitation": None, "delivery": None, "questions": None}
    return {"type": "agentMessage", "id": new_uuid7(), "text": text, **unknown}


def _text_input(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "text_elements": []}


def _ignore(step: CommandProgress) -> None:
    """A client of Codex knows no progress of commands; it sees the turn run."""
