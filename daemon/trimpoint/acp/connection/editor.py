"""Sends notifications and requests to the editor."""

import asyncio
from typing import Any, Literal

import msgspec
from trimpoint_protocol.lenient import Json, as_dict

from trimpoint.acp.connection.peer import Peer, RpcError
from trimpoint.acp.translate.forms import Form
from trimpoint.acp.translate.permissions import Permission
from trimpoint.acp.wire.capabilities import Capabilities
from trimpoint.acp.wire.requests import ElicitationAnswer, PermissionAnswer
from trimpoint.acp.wire.updates import Notice, SessionUpdate, Update


class Editor:
    """Sends messages to the editor. `capabilities` are those that it declared in `initialize`;
    empty before.
    """

    def __init__(self, peer: Peer) -> None:
        self.capabilities = Capabilities()
        self._peer = peer

    def update(self, session_id: str, *updates: Update) -> None:
        """Sends updates of a session, in order."""
        for update in updates:
            self._peer.notify("session/update", SessionUpdate(session_id=session_id, update=update))

    def notice(
        self, session_id: str, severity: Literal["info", "warning", "error"], text: str
    ) -> None:
        """Sends a notice that is not part of the conversation, if the editor supports notices."""
        if self.capabilities.notices and text.strip():
            title, _, rest = text.strip().partition("\n")
            self.update(
                session_id, Notice(severity=severity, title=title, description=rest.strip() or None)
            )

    async def ask(self, method: str, params: object) -> Json:
        """Sends a request that asks the person, and returns the answer. If the wait is cancelled,
        the editor is told to withdraw the question.

        :raises RpcError: when the editor refused.
        """
        sent = self._peer.begin(method, params)
        try:
            answer: Any = msgspec.json.decode(await self._peer.result_of(sent))
        except asyncio.CancelledError:
            if not sent.future.done() or sent.future.cancelled():
                self._peer.notify("$/cancel_request", {"requestId": sent.id})
            raise
        return as_dict(answer)

    async def choice(self, session_id: str, permission: Permission) -> str | None:
        """Asks for a permission, and returns the id of the option that the person chooses; None if
        the person makes no choice.
        """
        try:
            raw = await self.ask("session/request_permission", permission.request(session_id))
            outcome = msgspec.convert(raw, PermissionAnswer).outcome
        except (RpcError, msgspec.ValidationError):
            return None
        return (outcome.option_id or "") if outcome.outcome == "selected" else None

    async def filled(self, session_id: str, form: Form) -> ElicitationAnswer | None:
        """Shows a form, and returns the person's answer; None if the editor gave none."""
        try:
            raw = await self.ask("elicitation/create", {**form.params, "sessionId": session_id})
            return msgspec.convert(raw, ElicitationAnswer)
        except (RpcError, msgspec.ValidationError):
            return None

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tells the editor that the page which it opened for an elicitation is no longer needed."""
        if self.capabilities.url:
            self._peer.notify("elicitation/complete", {"elicitationId": elicitation_id})
