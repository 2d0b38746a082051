"""Questions of Codex, asked through the editor that started the turn. No other client answers them.

The daemon interprets an error as "not answered by this client". So a question about a turn of this
editor always gets a result, and one about another client's turn is left to that client.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from trimpoint_protocol.lenient import Json, as_text

from trimpoint.acp.connection.daemon import refuse_as_not_mine
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import Incoming
from trimpoint.acp.sessions.own_turn import OwnTurn
from trimpoint.acp.translate import forms
from trimpoint.acp.translate import permissions as p
from trimpoint.acp.translate.forms import Form
from trimpoint.acp.translate.permissions import Permission


class Unanswerable(NamedTuple):
    """The result for a question that the editor cannot ask, and the reason, for the person."""

    result: Json
    why: str


Asked = Permission | Form | Unanswerable


class Questions:
    """The open questions of a session. `turn_of` returns the session's running turn, or None."""

    def __init__(
        self, session_id: str, editor: Editor, turn_of: Callable[[], OwnTurn | None]
    ) -> None:
        self._session_id = session_id
        self._editor = editor
        self._turn_of = turn_of
        self._open: dict[str, asyncio.Task[None]] = {}

    def ask(self, question: Incoming, params: Json) -> None:
        """Asks the person and sends the answer to Codex when it comes."""
        key = _key(question.id)
        task = asyncio.get_running_loop().create_task(self._ask(question, params))
        self._open[key] = task
        task.add_done_callback(lambda _: self._open.pop(key, None))

    def resolved(self, request_id: object) -> None:
        """Withdraws a question that another client has answered or that has expired."""
        task = self._open.pop(_key(msgspec.json.encode(request_id)), None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Withdraws all questions."""
        for task in list(self._open.values()):
            task.cancel()

    async def _ask(self, question: Incoming, params: Json) -> None:
        turn = self._turn_of()
        own = turn if turn is not None and turn.turn_id == params.get("turnId") else None
        match self._asked(question.method, params, own):
            case Permission() as permission:
                await self._ask_permission(question, params, permission, own)
            case Form() as form:
                await self._ask_form(question, form, own)
            case Unanswerable(result=result, why=why):
                self._editor.notice(self._session_id, "warning", why)
                self._settle(question, result, own)
            case None:
                refuse_as_not_mine(question)

    def _asked(self, method: str, params: Json, own: OwnTurn | None) -> Asked | None:
        call = own.translator.tool_call(as_text(params.get("itemId"))) if own is not None else None
        match method:
            case p.COMMAND:
                return p.command_permission(params, call)
            case p.FILE_CHANGE:
                return p.file_change_permission(params, call)
            case p.PERMISSIONS:
                return p.wider_permission(params)
            case p.ELICITATION if p.is_tool_approval(params):
                return p.tool_permission(params, call)
            case p.ELICITATION:
                form = forms.elicitation_form(params, self._editor.capabilities)
                server = as_text(params.get("serverName"))
                why = f"{server} asked something that this editor cannot show; it was declined."
                return form or Unanswerable(forms.DECLINED, why)
            case p.USER_INPUT:
                shown = forms.questions_form(
                    params, self._editor.capabilities
                ) or p.question_permission(params)
                why = "The agent asked something that this editor cannot show; it got no answer."
                return shown or Unanswerable({"answers": {}}, why)
            case _:
                return None

    async def _ask_permission(
        self, question: Incoming, params: Json, permission: Permission, own: OwnTurn | None
    ) -> None:
        item_id = as_text(params.get("itemId"))
        if own is not None:
            own.show(*own.translator.waiting(item_id))
        asked = permission
        while (chosen := await self._editor.choice(self._session_id, asked)) is not None:
            second = asked.second_step(chosen)
            if second is None:
                question.answer(asked.answer(chosen))
                if own is not None:
                    own.show(*own.translator.going_on(item_id))
                return None
            asked = second
        return self._settle(question, self._without_choice(permission, own), own)

    def _without_choice(self, permission: Permission, own: OwnTurn | None) -> Json:
        is_cancelled = own is not None and own.is_cancelled
        return permission.cancelled if is_cancelled else permission.declined

    async def _ask_form(self, question: Incoming, form: Form, own: OwnTurn | None) -> None:
        read = (
            forms.questions_answer if question.method == p.USER_INPUT else forms.elicitation_answer
        )
        answer = await self._editor.filled(self._session_id, form)
        if answer is None:
            return self._settle(question, read("cancel", None), own)
        return question.answer(read(answer.action, answer.content))

    def _settle(self, question: Incoming, result: Json, own: OwnTurn | None) -> None:
        """Answers a question that the person did not decide; one about another client's turn is
        left to that client.
        """
        if own is not None:
            question.answer(result)
        else:
            refuse_as_not_mine(question)


def _key(request_id: bytes) -> str:
    return str(msgspec.json.decode(request_id))
