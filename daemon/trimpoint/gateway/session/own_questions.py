"""Requests of trimpoint's own to one client, in a form that the client knows from Codex.

Codex does not learn of them. A request ends when the client answers it or disconnects.
"""

from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc

from trimpoint.gateway.session.clients import Client
from trimpoint.threads.ids import new_uuid7


class _Question:
    """An open request. `result` is None until the client gives one, and stays None if it
    refuses.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ended = anyio.Event()
        self.result: Raw | None = None


class OwnQuestions:
    """The open requests of trimpoint's own to clients."""

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}

    async def ask(self, client: Client, method: str, params: dict[str, Any]) -> Raw | None:
        """Sends a request to a client, and returns its result, or None when it refused or
        disconnected. Cancelling withdraws the request.
        """
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
        """Handles a client's response. Returns False when `question_id` is not an open request to
        this client.
        """
        question = self._open.get(question_id)
        if question is None or question.client is not client:
            return False
        if isinstance(message, jsonrpc.Response):
            question.result = message.result.copy()
        question.ended.set()
        return True

    def client_left(self, client: Client) -> None:
        """Ends the open requests to a client that has disconnected."""
        for question in self._open.values():
            if question.client is client:
                question.ended.set()
