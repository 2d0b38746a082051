"""A Codex that asks, and the clients that are asked."""

from typing import Any

import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint_protocol import jsonrpc

from tests.gateway.stage import FakeClient

METHOD = "item/commandExecution/requestApproval"
USER_INPUT = "item/tool/requestUserInput"
ASKING = (METHOD, USER_INPUT)
PARAMS = b'{"threadId":"t","itemId":"c1","command":"rm -rf /"}'
ACCEPT = {"decision": "accept"}
DECLINE = {"decision": "decline"}


class Codex:
    """A Codex that records answers, or has ended."""

    def __init__(self) -> None:
        self.heard: list[tuple[bytes, Any]] = []
        self.refusals: list[tuple[bytes, int, str]] = []
        self.is_gone = False

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        if self.is_gone:
            raise ProviderExited("it died", "")
        self.refusals.append((bytes(request_id), code, message))

    def respond(self, request_id: Raw, result: Any) -> None:
        if self.is_gone:
            raise ProviderExited("it died", "")
        self.heard.append((bytes(request_id), msgspec.json.decode(result)))


class Setup:
    """Open requests, and the facts that were recorded about them."""

    def __init__(self) -> None:
        self.clients = Clients()
        self.codex = Codex()
        self.notes: list[tuple[Any, ...]] = []
        self.waiting: list[tuple[str, bool]] = []
        self.questions = PendingServerRequests(
            self.clients,
            lambda: self.codex,
            self._note,
            self._note,
            lambda thread_id, item_id, is_waiting: self.waiting.append((item_id, is_waiting)),
        )

    def _note(self, *note: Any) -> None:
        self.notes.append(note)

    def fake_client(
        self, *threads: str, initialized: bool = True, opted_out: frozenset[str] = frozenset()
    ) -> FakeClient:
        return FakeClient(self.clients, *threads, initialized=initialized, opted_out=opted_out)

    def ask(
        self, provider_id: bytes = b"0", thread_id: str | None = "t", *, to_everyone: bool = False
    ) -> None:
        self.questions.ask(thread_id, Raw(provider_id), METHOD, PARAMS, to_everyone=to_everyone)

    def ask_in_words(self, params: dict[str, Any]) -> None:
        shown = msgspec.json.encode(params)
        self.questions.ask("t", Raw(b"0"), USER_INPUT, shown, to_everyone=False)

    def answer(
        self,
        fake_client: FakeClient,
        result: Any = ACCEPT,
        *,
        question: int = 0,
        question_id: str | None = None,
    ) -> bool:
        asked = question_id or asked_of(fake_client)[question]["id"]
        text = msgspec.json.encode(result)
        return self.questions.answered(
            fake_client.client, asked, jsonrpc.Response(b"", b'"x"', Raw(text), False)
        )

    def refuse(
        self,
        fake_client: FakeClient,
        error: bytes = b'{"code":-32601,"message":"Method not found"}',
    ) -> bool:
        message = jsonrpc.ErrorResponse(b"", b'"x"', Raw(error), False)
        return self.questions.answered(fake_client.client, asked_of(fake_client)[0]["id"], message)


def asked_of(fake_client: FakeClient) -> list[dict[str, Any]]:
    return [
        message for message in fake_client.received if message.get("method") in (METHOD, USER_INPUT)
    ]


def resolved_for(fake_client: FakeClient) -> list[dict[str, Any]]:
    return [
        message["params"]
        for message in fake_client.received
        if message.get("method") == "serverRequest/resolved"
    ]
