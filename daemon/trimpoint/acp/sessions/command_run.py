"""Runs a slash command of a prompt through the daemon."""

import asyncio
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import RpcError
from trimpoint.acp.sessions.prompt import Prompt
from trimpoint.acp.translate.forms import Form, draft_command, draft_form, draft_left
from trimpoint.acp.translate.turn_choice import Unnamed, may_ask, unnamed
from trimpoint.acp.wire.answers import PromptEnded, StopReason
from trimpoint.acp.wire.content import Text
from trimpoint.acp.wire.updates import (
    AgentMessageChunk,
    Compaction,
    CompactionStatus,
    ToolCallChanged,
    ToolCallStarted,
)

T = TypeVar("T")
_STATUS: dict[str, CompactionStatus] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}


class CommandRun:
    """A running slash command."""

    def __init__(
        self, session_id: str, thread_id: str, link: DaemonLink, editor: Editor, prompt: Prompt
    ) -> None:
        self.operation_id: str | None = None
        self._session_id = session_id
        self._thread_id = thread_id
        self._link = link
        self._editor = editor
        self._prompt = prompt
        self._is_shown = False
        self._interrupts: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[Any] | None = None

    async def run(self, text: str) -> Json:
        """Runs the command, sends its outcome to the editor and returns it. `handled` of the
        outcome is false if the text is no command. A `/clear` or `/revert` that names no turn asks,
        and a text that was drafted is shown in a form, where the editor has forms.

        :raises RpcError: when the command could not be run.
        """
        self._prompt.became(self)
        asked = await self._unnamed(text)
        wanted = text if asked is None else await self._with_number(asked, text)
        if asked is not None and wanted is None:
            outcome = asked.nothing_chosen
        else:
            outcome = await self._execute(wanted or text)
        while form := draft_form(outcome, self._editor.capabilities):
            outcome = await self._revised(outcome, form)
        if outcome.get("handled"):
            self._show(outcome)
        return outcome

    def progress(self, step: Json) -> bool:
        """Handles a progress message of an operation; returns False if the operation belongs to
        another command.
        """
        operation_id = as_text(step.get("operationId"))
        if self.operation_id not in (None, operation_id):
            return False
        self.operation_id = operation_id
        if self._prompt.is_cancelled:
            self.cancel()
        if (
            step.get("command") == "compact"
            and not self._is_shown
            and self._editor.capabilities.compaction
        ):
            self._is_shown = True
            self._editor.update(
                self._session_id, Compaction(compaction_id=operation_id, status="in_progress")
            )
        return True

    def cancel(self) -> None:
        """Cancels a compaction, or the question which turns are meant. Other commands end within
        moments and are not cancelled.
        """
        if self._asking is not None:
            self._asking.cancel()
        if self.operation_id is not None and self._interrupts is None:
            self._interrupts = asyncio.get_running_loop().create_task(
                self._interrupt(self.operation_id)
            )

    async def _unnamed(self, text: str) -> Unnamed | None:
        name = may_ask(text)
        if name is None:
            return None
        return unnamed(text, await self._link.request("commands/complete", text=f"/{name}"))

    async def _with_number(self, asked: Unnamed, text: str) -> str | None:
        """Returns the command that the person wants; None if they chose nothing."""
        found = await self._link.request("checkpoint/list", threadId=self._thread_id)
        permission = asked.permission(found, str(uuid.uuid4()))
        if permission is None:
            return text
        call = permission.tool_call
        self._editor.update(self._session_id, ToolCallStarted(**msgspec.structs.asdict(call)))
        chosen = await self._asked(self._editor.choice(self._session_id, permission))
        number = {} if chosen is None else permission.answer(chosen)
        ended = ToolCallChanged(
            tool_call_id=call.tool_call_id, status="completed" if number else "failed"
        )
        self._editor.update(self._session_id, ended)
        return asked.with_number(number) if number else None

    async def _revised(self, drafted: Json, form: Form) -> Json:
        """Shows a draft in a form, and returns the outcome of what the person does with it."""
        self._show_trim(drafted)
        draft = as_dict(drafted.get("draft"))
        self._say(as_text(draft.get("text")))
        answer = await self._asked(self._editor.filled(self._session_id, form))
        command = draft_command(draft, answer.action, answer.content) if answer else None
        if command is None:
            return draft_left(drafted)
        self.operation_id, self._is_shown, self._interrupts = None, False, None
        written = as_text(as_dict(answer.content).get("text")) if answer else ""
        try:
            outcome = await self._execute(command)
        except RpcError:
            self._say(written)  # what a person has written is not lost
            raise
        if outcome.get("status") not in ("completed", "skipped"):
            self._say(written)
        return outcome

    async def _execute(self, text: str) -> Json:
        return await self._link.request("commands/execute", threadId=self._thread_id, text=text)

    async def _asked(self, question: Coroutine[Any, Any, T]) -> T | None:
        """Returns the answer to a question, which a cancel of the prompt withdraws; then None."""
        self._asking = asking = asyncio.get_running_loop().create_task(question)
        if self._prompt.is_cancelled:
            asking.cancel()
        await asyncio.wait([asking])
        self._asking = None
        return None if asking.cancelled() else asking.result()

    async def _interrupt(self, operation_id: str) -> None:
        try:
            await self._link.request(
                "turn/interrupt", threadId=self._thread_id, turnId=operation_id
            )
        except RpcError:
            return  # it has just ended

    def _show(self, outcome: Json) -> None:
        self._show_trim(outcome)
        self._say(as_text(outcome.get("message")))

    def _say(self, text: str) -> None:
        if text and not self._prompt.is_over:
            chunk = AgentMessageChunk(content=Text(text=text), message_id=str(uuid.uuid4()))
            self._editor.update(self._session_id, chunk)

    def _show_trim(self, outcome: Json) -> None:
        # A draft has changed nothing, as one that was cancelled.
        status = _STATUS.get(
            "cancelled" if outcome.get("draft") else as_text(outcome.get("status"))
        )
        compaction_id = as_text(outcome.get("operationId")) or self.operation_id
        is_trim = outcome.get("trims") and not outcome.get("dryRun")
        if (
            status is None
            or compaction_id is None
            or not is_trim
            or not self._editor.capabilities.compaction
        ):
            return
        if status != "completed" and not self._is_shown:
            return
        summary = as_text(outcome.get("summary"))
        trimmed = Compaction(
            compaction_id=compaction_id,
            status=status,
            summary=[Text(text=summary)] if summary and status == "completed" else None,
            error=as_text(outcome.get("message")) if status == "failed" else None,
        )
        self._editor.update(self._session_id, trimmed)


def command_ended(outcome: Json) -> PromptEnded:
    """Returns the answer to a prompt that was a command."""
    told = {
        name: outcome.get(name)
        for name in ("command", "status", "reason", "trimPointId", "operationId")
    }
    stop_reason: StopReason = "cancelled" if outcome.get("status") == "cancelled" else "end_turn"
    known = {name: value for name, value in told.items() if value is not None}
    return PromptEnded(stop_reason=stop_reason, meta={"trimpoint": known})
