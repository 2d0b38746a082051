"""Questions of the agent (approvals, user input, tool calls): put to the thread's clients, answered to Codex exactly once (spec §3).

The law: Codex takes any reply as the answer, an error too, so a client's error only means "not me" and the question stays open for
the others. An answer is matched by an id of ours that is never used twice: Codex's own ids restart with each child, and a late answer
must not approve a new question.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import structlog
from msgspec import Raw
from trimpoint_protocol import jsonrpc

from trimpoint.gateway.clients import Client, Clients

log = structlog.get_logger()


class Answerer(Protocol):
    """Whoever passes an answer on to Codex."""

    def respond(self, request_id: Raw, result: Any) -> None:
        """Answer a server request."""
        ...


class Question(msgspec.Struct):
    """An open question. `id` is ours and goes to clients, `provider_id` is Codex's; `declined` are clients that said "not me"."""

    id: str
    provider_id: Raw
    thread_id: str | None
    method: str
    params: bytes
    declined: set[str]
    asked: set[str]


class Questions:
    """All open questions of the present epoch. `on_opened` and `on_closed(thread_id, question_id, outcome)` record them."""

    def __init__(
        self,
        clients: Clients,
        answerer: Callable[[], Answerer | None],
        on_opened: Callable[[str, str, str], None],
        on_closed: Callable[[str, str, str], None],
    ) -> None:
        self._clients = clients
        self._answerer = answerer
        self._on_opened = on_opened
        self._on_closed = on_closed
        self._open: dict[str, Question] = {}
        self._settled: dict[bytes, tuple[str, Client]] = {}
        self._asked_in_all = 0

    def ask(self, thread_id: str | None, provider_id: Raw, method: str, params: bytes) -> None:
        """Put a question to the clients of its thread, or to everyone when it belongs to none."""
        self._asked_in_all += 1
        question = Question(f"q{self._asked_in_all}", Raw(bytes(provider_id)), thread_id, method, params, set(), set())
        self._open[question.id] = question
        if thread_id is not None:
            self._on_opened(thread_id, question.id, method)
        for client in self._audience(question):
            self._put(question, client)

    def put_all_to(self, client: Client, thread_id: str | None) -> None:
        """A client joined a thread: it is asked what is open there."""
        for question in self._open.values():
            if question.thread_id == thread_id and client.id not in question.asked:
                self._put(question, client)

    def answered(self, client: Client, question_id: str, message: jsonrpc.Response | jsonrpc.ErrorResponse) -> bool:
        """A client answered; False when there is no such question (any more), and the answer goes nowhere."""
        question = self._open.get(question_id)
        if question is None or client.id not in question.asked:
            return False
        if isinstance(message, jsonrpc.ErrorResponse):
            question.declined.add(client.id)
            return True
        answerer = self._answerer()
        if answerer is not None:
            answerer.respond(question.provider_id, message.result)
        self._settled[bytes(question.provider_id)] = (question.id, client)
        self._close(question, "answered", except_client=client)
        return True

    def resolved_by_provider(self, provider_id: bytes, thread_id: str) -> None:
        """Codex says a question is settled: whoever was asked and has not heard of it yet is told, under our id."""
        for question in self._open.values():
            if bytes(question.provider_id) == provider_id:
                self._close(question, "resolved", except_client=None)
                return
        settled = self._settled.pop(provider_id, None)
        if settled is not None:
            question_id, answerer = settled
            answerer.notify("serverRequest/resolved", {"threadId": thread_id, "requestId": question_id})

    def expire_all(self, reason: str) -> None:
        """The session that asked is gone."""
        self._settled.clear()
        for question in list(self._open.values()):
            log.info("question_expired", method=question.method, thread_id=question.thread_id, reason=reason)
            self._close(question, "expired", except_client=None)

    def open_for(self, thread_id: str) -> list[str]:
        """Ids of a thread's open questions."""
        return [question.id for question in self._open.values() if question.thread_id == thread_id]

    def _audience(self, question: Question) -> list[Client]:
        if question.thread_id is not None:
            return self._clients.subscribers(question.thread_id)
        return [client for client in self._clients.all() if client.initialized]

    def _put(self, question: Question, client: Client) -> None:
        question.asked.add(client.id)
        request = jsonrpc.encode_request(
            msgspec.json.encode(question.id), question.method, Raw(question.params), versioned=client.versioned
        )
        client.connection.send(request)

    def _close(self, question: Question, outcome: str, except_client: Client | None) -> None:
        self._forget(question, outcome)
        params = {"threadId": question.thread_id, "requestId": question.id}
        for client in self._audience(question):
            if client is not except_client and client.id in question.asked:
                client.notify("serverRequest/resolved", params)

    def _forget(self, question: Question, outcome: str) -> None:
        del self._open[question.id]
        if question.thread_id is not None:
            self._on_closed(question.thread_id, question.id, outcome)
