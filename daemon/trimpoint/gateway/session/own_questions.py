"""Questions of trimpoint's own to one client, in a form that the client knows from Codex.

Codex is not told of them. They end with their answer, or when the client leaves.
"""

from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc

from trimpoint.gateway.session.clients import Client
from trimpoint.threads.ids import new_uuid7


class _Question:
    """`result` is None as long as there is none, and where the client gave none."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ended = anyio.Event()
        self.result: Raw | None = None


class OwnQuestions:
    """Those that are open."""

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}

    async def ask(self, client: Client, method: str, params: dict[str, Any]) -> Raw | None:
        """Return the client's result; None when it refused or left. Cancelling takes it back."""
        question_id, question = new_uuid7(), _Question(client)
        self._open[question_id] = question
        try:
            client.connection.send(
                jsonrpc.encode_request(
                    msgspec.json.encode(question_id), method, params, versioned=client.versioned
                )
            )
            await question.ended.wait()
        finally:
            del self._open[question_id]
            resolved = {"threadId": params.get("threadId"), "requestId": question_id}
            client.notify("serverRequest/resolved", resolved)
        return question.result

    def answered(
        self, client: Client, question_id: str, message: jsonrpc.Response | jsonrpc.ErrorResponse
    ) -> bool:
        """Take a client's reply; False when it is to no question of these."""
        question = self._open.get(question_id)
        if question is None or question.client is not client:
            return False
        if isinstance(message, jsonrpc.Response):
            question.result = message.result.copy()
        question.ended.set()
        return True

    def client_left(self, client: Client) -> None:
        """End what was asked of a client that is gone."""
        for question in self._open.values():
            if question.client is client:
                question.ended.set()
