"""Carries out slash commands that are typed as prompts, so that any client has them unchanged.

The client sees a turn whose answer is the command's message. Nothing of it reaches the model or the
ledger (docs/spec/clients.md).
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.errors import ERROR_KINDS, Reason
from trimpoint_protocol.methods import CommandProgress

from trimpoint.core.model import slash
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.gateway.commands.shown_turns import ShownTurn, ShownTurns, agent_message, user_message
from trimpoint.gateway.commands.skill_menu import command_in
from trimpoint.gateway.commands.slash_runner import SlashRunner
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.errors import WireError, as_wire_error
from trimpoint.gateway.session.request import ClientRequest

Handler = Callable[[ClientRequest], Awaitable[Any]]

OWN_NEW = "Type /new without a space or a colon before it: Codex then opens a new chat here. Nothing was changed."


class PromptHandlers(NamedTuple):
    """What takes the inputs that are no commands."""

    start: Handler
    steer: Handler
    queue: Handler


class TypedCommands:
    """`handlers` is the table; each stands before one of `prompts`. `running` counts commands by thread."""

    def __init__(self, turns: ShownTurns, identity: Identity, runner: SlashRunner, prompts: PromptHandlers) -> None:
        self.running: Counter[str] = Counter()
        self._turns = turns
        self._identity = identity
        self._runner = runner
        self._prompts = prompts
        self.handlers: dict[str, Handler] = {
            "turn/start": self._turn_start,
            "turn/steer": self._turn_steer,
            "thread/queue/add": self._queue_add,
        }

    async def _turn_start(self, client_request: ClientRequest) -> Any:
        """Run the command if the input is one, else pass it on."""
        params = client_request.params()
        text = typed_command(params.get("input"))
        thread_id = self._identity.thread_of(str(params.get("threadId")))
        if text is None or thread_id is None:
            return await self._prompts.start(client_request)
        client_request.client.join(thread_id)
        turn = ShownTurn.begun(thread_id)
        client_request.answer({"turn": turn.as_object("inProgress")})
        self.running[thread_id] += 1
        try:
            await self._run_command(turn, text, client_request)
        finally:
            self.running[thread_id] -= 1
        return None

    async def _run_command(self, turn: ShownTurn, text: str, client_request: ClientRequest) -> None:
        params = client_request.params()
        self._turns.started(turn)
        # As it came: by name and content a client recognizes what it shows already.
        content = [_with_elements(part) for part in as_list(params.get("input"))]
        self._turns.item(turn, user_message(content, params.get("clientUserMessageId")))
        try:
            answer, error = await self._answer(turn, text, client_request), None
        except Exception as failure:  # the boundary: the request was answered, so the turn must be ended
            answer, error = "", as_wire_error(failure).message
        said = agent_message(answer) if answer else None
        if said:
            self._turns.item(turn, said)
        self._turns.ended(turn, error, said)

    async def _answer(self, turn: ShownTurn, text: str, client_request: ClientRequest) -> str:
        parsed = slash.parse(text)
        if isinstance(parsed, slash.Invocation) and parsed.command == "new" and is_codex_tui(client_request.client):
            return OWN_NEW
        outcome = await self._runner.run(text, turn.thread_id, None, _ignore)
        # With a colon the command can be typed into every client.
        return str(outcome.message).replace("To undo: /revert", "To undo: :revert")

    async def _turn_steer(self, client_request: ClientRequest) -> Any:
        if self._is_command(client_request):
            return client_request.refuse_with(_NOT_NOW)
        return await self._prompts.steer(client_request)

    async def _queue_add(self, client_request: ClientRequest) -> Any:
        if self._is_command(client_request):
            return client_request.refuse_with(_NOT_QUEUED)
        return await self._prompts.queue(client_request)

    def _is_command(self, client_request: ClientRequest) -> bool:
        params = client_request.params()
        is_ours = self._identity.thread_of(str(params.get("threadId"))) is not None
        return is_ours and typed_command(params.get("input")) is not None


def typed_command(turn_input: Any) -> str | None:
    """Return the command that an input is, if it is one of ours: one text and nothing else, or an entry of the `$` menu."""
    text = command_in(turn_input)
    if text is not None:
        return text
    text = sole_text(turn_input)
    return None if text is None or isinstance(slash.parse(text), slash.NotACommand) else text


def sole_text(turn_input: Any) -> str | None:
    """The text of an input that is one text and nothing else; a command stands alone."""
    parts = as_list(turn_input)
    only = as_dict(parts[0]) if len(parts) == 1 else {}
    text = only.get("text")
    return text if only.get("type") == "text" and isinstance(text, str) else None


def _with_elements(part: Any) -> Any:
    return {"text_elements": [], **part} if as_dict(part).get("type") == "text" else part


def _refused(message: str, hint: str) -> WireError:
    """A refusal in Codex's form for a turn that takes no more input: its UI keeps the text and sends it when the turn has ended."""
    kind = ERROR_KINDS[Reason.TURN_IN_PROGRESS]
    data = {
        "reason": Reason.TURN_IN_PROGRESS, "retryable": kind.retryable, "hint": hint, "message": message,
        "codexErrorInfo": {"activeTurnNotSteerable": {"turnKind": "compact"}}, "additionalDetails": None,
    }  # fmt: skip
    raw = msgspec.json.encode({"code": kind.code, "message": message, "data": data})
    return WireError(kind.code, message, raw=raw)


_NOT_NOW = _refused(
    "A command cannot be run while the agent works. Nothing was sent to the agent.",
    "Send it when the turn has ended, or interrupt the turn first.",
)
_NOT_QUEUED = _refused(
    "A command cannot be queued. Nothing was sent to the agent.",
    "Send it as a prompt when the thread is idle, or use the trimpoint command of the same name.",
)


def _ignore(step: CommandProgress) -> None:
    """A client of Codex knows no progress of commands; it sees the turn run."""
