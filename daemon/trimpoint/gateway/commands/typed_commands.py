"""Executes slash commands that are typed as prompts, so that they work in every client.

The client sees a played turn whose answer is the command's message. Always true: no part of a
command reaches the model or the ledger (docs/spec/clients.md), whichever method carried it. A
command that cannot be executed in its place is refused.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.methods import CommandProgress

from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.new import New
from trimpoint.core.commands.parsing import MAX_ARGUMENT_CHARS, NotACommand, UsageError, parse
from trimpoint.core.commands.revert import Revert
from trimpoint.core.model.spelling import Spelling
from trimpoint.core.views.outcome_text import outcome_text
from trimpoint.gateway.commands.codex_tui.skill_menu import command_in
from trimpoint.gateway.commands.codex_tui.turn_picker import TurnPicker
from trimpoint.gateway.commands.large_input import read_head
from trimpoint.gateway.commands.lone_messages import agent_message
from trimpoint.gateway.commands.slash_runner import SlashRunner
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.codex_tui import (
    is_codex_tui,
    send_to_read_again,
)
from trimpoint.gateway.session.played_turns import PlayedTurn, PlayedTurns
from trimpoint.gateway.session.requests.errors import Refusal, as_wire_error, not_steerable
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.ids import new_uuid7

OWN_NEW = (
    "Type /new without a space or a colon before it: Codex then opens a new chat here. Nothing was "
    "changed."
)
# Clients are shown a typed command several times; a longer one cannot be a valid command.
MAX_PLAYED_CHARS = 2 * MAX_ARGUMENT_CHARS
# The methods, besides `turn/start`, that add input for the model: to the running turn, or to the
# queue behind it.
INTO_A_TURN = ("turn/steer", "thread/queue/add", "thread/queue/update")
_STATUS_OF = {"cancelled": "interrupted"}


TypedCommand: TypeAlias = UsageError | Command


class Typed(NamedTuple):
    """A typed command. `text` is the typed text, or None if the input holds more than text."""

    parsed: TypedCommand
    text: str | None

    @property
    def name(self) -> str:
        """Returns the command's name, which is in `REGISTRY`."""
        return self.parsed.command


class TypedCommands:
    """Executes typed commands. `wrap` places it in front of the handlers that take input for the
    agent. `in_order` sends something about a thread behind what waits to be sent.
    """

    def __init__(
        self,
        clients: Clients,
        identity: Identity,
        runner: SlashRunner,
        sessions: Sessions,
        played: PlayedTurns,
        picker: TurnPicker,
        in_order: Callable[[str, Callable[[], object]], None],
    ) -> None:
        self._clients = clients
        self._identity = identity
        self._runner = runner
        self._sessions = sessions
        self._played = played
        self._picker = picker
        self._in_order = in_order

    def wrap(self, handlers: dict[str, Handler], forward: Handler) -> dict[str, Handler]:
        """Returns the handlers, with those that take input changed to execute or refuse commands.
        The inner handler of a method that is not in `handlers` is `forward`.
        """
        inner = {method: handlers.get(method, forward) for method in ("turn/start", *INTO_A_TURN)}
        into = {method: self._refusing(inner[method]) for method in INTO_A_TURN}
        return {**handlers, **into, "turn/start": self._playing(inner["turn/start"])}

    def _playing(self, prompt: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            typed = _typed_in_any(client_request.params().get("input"))
            await client_request.let_others_on()
            if typed is None:
                return await prompt(client_request)
            thread_id = self._own_thread(client_request, typed)
            if typed.text is None:
                problem = (
                    f"/{typed.name} is a command and stands alone; nothing was sent to the agent."
                )
                raise Refusal(Reason.USAGE, problem, "Send it without the attachments.")
            if len(typed.text) > MAX_PLAYED_CHARS:
                raise _too_long()
            await self._run_command(client_request, thread_id, typed.parsed, typed.text)
            return None

        return handle

    def _refusing(self, take_input: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            params = client_request.params()
            typed = _typed_in_any(params.get("input"))
            thread_id = self._identity.thread_named_in(client_request)
            running = self._played.running(thread_id, str(params.get("expectedTurnId")))
            if typed is not None:
                problem = (
                    f"/{typed.name} is a command, and no part of a turn; nothing was sent to the "
                    "agent."
                )
                hint = "Send it as a prompt of its own when the turn has ended."
                if client_request.method == "turn/steer":
                    return client_request.refuse_with(not_steerable(Reason.USAGE, problem, hint))
                raise Refusal(Reason.USAGE, problem, hint)
            if running is not None:
                problem = (
                    f"The turn is the command /{running.command}, which takes no more input; "
                    "nothing was sent to the agent."
                )
                hint = "Send a prompt; it waits until the command has ended."
                return client_request.refuse_with(
                    not_steerable(Reason.ALREADY_IN_PROGRESS, problem, hint)
                )
            await client_request.let_others_on()
            return await take_input(client_request)

        return handle

    def _own_thread(self, client_request: ClientRequest, typed: Typed) -> str:
        named = client_request.params().get("threadId")
        thread_id = self._identity.thread_of(named) if isinstance(named, str) else None
        if thread_id is None:
            problem = (
                f"/{typed.name} is a command, and trimpoint keeps no record of this thread; "
                "nothing was sent to the agent."
            )
            raise Refusal(
                Reason.NOT_SUPPORTED,
                problem,
                "Commands work in threads that were opened here and are not ephemeral.",
            )
        return thread_id

    async def _run_command(
        self, client_request: ClientRequest, thread_id: str, parsed: TypedCommand, text: str
    ) -> None:
        client_request.client.join(thread_id)
        prompt = _prompt(text, client_request.params())
        turn = PlayedTurn(thread_id, new_uuid7(), parsed.command, prompt, time.time())
        self._played.add(turn)
        try:
            client_request.answer({"turn": turn.as_object()})
            self._send(turn, "turn/started", turn=turn.as_object())
            self._send_item(turn, turn.prompt)
            status, answer, error = await self._answer(client_request, turn, parsed)
        finally:
            self._played.remove(turn)
        said = agent_message(answer) if answer else None
        if said:
            self._send_item(turn, said)
        self._send(
            turn, "turn/completed", turn=turn.as_object(status, error, [said] if said else None)
        )
        if (
            turn.command == Revert.command
            and status == "completed"
            and turn.operation_id is not None
        ):
            self._in_order(
                thread_id, lambda: send_to_read_again(self._clients.subscribers(thread_id))
            )

    async def _answer(
        self, client_request: ClientRequest, turn: PlayedTurn, parsed: TypedCommand
    ) -> tuple[str, str, str | None]:
        if turn.command == New.command and is_codex_tui(client_request.client):
            return "completed", OWN_NEW, None
        completed = await self._completed(client_request, turn, parsed)
        if completed is None:
            return "interrupted", f"Nothing was chosen, so :{turn.command} did nothing.", None
        return await self._outcome(turn, completed)

    async def _completed(
        self, client_request: ClientRequest, turn: PlayedTurn, parsed: TypedCommand
    ) -> TypedCommand | None:
        """Returns the command, completed with the turn that the person chooses if the command names
        none. Returns None if the person chooses no turn.
        """
        with anyio.CancelScope() as turn.asking:
            try:
                return await self._picker.completed(client_request.client, turn, parsed)
            finally:
                turn.asking = None
        return None

    async def _outcome(self, turn: PlayedTurn, parsed: TypedCommand) -> tuple[str, str, str | None]:
        """Runs the command, and returns the played turn's status, answer and error."""

        def note(step: CommandProgress) -> None:
            turn.operation_id = step.operation_id
            if turn.is_unwanted:  # interrupted before there was anything to cancel
                self._sessions.begin_cancelling(turn.thread_id)

        try:
            outcome = await self._runner.run(parsed, turn.thread_id, _command_id(turn), note)
        except (
            Exception
        ) as failure:  # the boundary: the request was answered, so the turn must be ended
            return "failed", "", as_wire_error(failure).message
        # With a colon the command can be typed into every client.
        answer = outcome_text(outcome, Spelling.COLON)
        return _STATUS_OF.get(str(outcome.status), "completed"), answer, None

    def _send_item(self, turn: PlayedTurn, item: dict[str, Any]) -> None:
        now_ms = round(time.time() * 1000)
        text = item.get("text")
        # Many clients show only streamed text, so the answer is sent as a delta too.
        begun = item if text is None else {**item, "text": ""}
        self._send(turn, "item/started", item=begun, turnId=turn.turn_id, startedAtMs=now_ms)
        if text is not None:
            self._send(
                turn, "item/agentMessage/delta", turnId=turn.turn_id, itemId=item["id"], delta=text
            )
        self._send(turn, "item/completed", item=item, turnId=turn.turn_id, completedAtMs=now_ms)

    def _send(self, played: PlayedTurn, method: str, **params: Any) -> None:
        message = {"method": method, "params": {"threadId": played.thread_id, **params}}
        line = msgspec.json.encode(message)
        self._in_order(
            played.thread_id,
            lambda: self._clients.broadcast(played.thread_id, method, lambda: line),
        )


def _typed_in_any(turn_input: Any) -> Typed | None:
    """Returns the command in an input, of which a large one is still a `Raw`.

    :raises Refusal: when it is a command that is too long.
    """
    if not isinstance(turn_input, Raw):
        return typed_in(turn_input)
    head = read_head(turn_input)
    typed = typed_in(head.parts)
    if typed is not None and head.is_cut:
        raise _too_long()
    return typed


def _too_long() -> Refusal:
    problem = f"A command has at most {MAX_PLAYED_CHARS:,} characters."
    return Refusal(
        Reason.USAGE, f"{problem} Nothing was sent to the agent.", "Send it without its text."
    )


def typed_in(turn_input: Any) -> Typed | None:
    """Returns the command in a turn's input, or None if the input is not a command.

    All text parts of the input, joined by newlines, have to make up the command. An entry of
    Codex's `$` menu counts as a typed command.
    """
    parts = [as_dict(part) for part in as_list(turn_input)]
    chosen = command_in(turn_input)
    if chosen is not None:
        parts = [{"type": "text", "text": chosen}]
    texts = [
        text
        for part in parts
        if part.get("type") == "text" and isinstance(text := part.get("text"), str)
    ]
    text = "\n".join(one for one in texts if not one.isspace() and one)
    parsed = parse(text)
    if isinstance(parsed, NotACommand):
        return None
    return Typed(parsed, text if len(texts) == len(parts) else None)


def _command_id(turn: PlayedTurn) -> str | None:
    """Returns an id by which a prompt is recognized that a client sends again after it has lost the
    connection, so that its command is not carried out twice.
    """
    client_id = turn.prompt["clientId"]
    return f"typed:{client_id}" if isinstance(client_id, str) and client_id else None


def _prompt(text: str, params: dict[str, Any]) -> dict[str, Any]:
    # Unchanged, because a client recognizes by these members the prompt that it already shows.
    marked: list[dict[str, Any]] = [
        {"text_elements": [], **as_dict(part)} for part in as_list(params.get("input"))
    ]
    is_text = len(marked) == 1 and marked[0].get("text") == text
    content: list[dict[str, Any]] = (
        marked if is_text else [{"type": "text", "text": text, "text_elements": []}]
    )
    return {
        "type": "userMessage",
        "id": new_uuid7(),
        "clientId": params.get("clientUserMessageId"),
        "content": content,
    }
