"""Sends Codex's requests (approvals, user input, tool calls) to the thread's clients, and answers
each exactly once.

Always true: Codex takes any response as the answer, even an error. So an error from one client, or
a result that Codex could not read as an answer, only means that this client refuses, and the
request stays open for the others. When every connected client of the thread has refused, Codex gets
the newest refusal, so that the turn does not wait forever. Without a client, the request waits for
the next one.

A response is matched by an id of ours that is never used twice, in any run of the daemon: Codex's
own ids start again with each child, and a late response must not approve a new request.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import structlog
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.model import events as ev
from trimpoint.core.model.asked import asked_and_answered
from trimpoint.gateway.session.answers import allows, given_in, is_for_session, read_answer
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.threads.ids import new_uuid7

log = structlog.get_logger()

APPROVAL = "/requestApproval"
"""Ends the methods that ask whether an item may be done."""

# Codex sends serverRequest/resolved right after the answer, but never for tool calls (measured:
# 0.163), so the number of remembered answers is bounded.
MAX_SETTLED = 256
_METHOD_NOT_FOUND = -32601

Reply = jsonrpc.Response | jsonrpc.ErrorResponse


class Answerer(Protocol):
    """Sends responses to Codex."""

    def respond(self, request_id: Raw, result: Any) -> None:
        """Answers a request of Codex with a result."""
        ...

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        """Answers a request of Codex with an error."""
        ...


class ServerRequest(msgspec.Struct):
    """An open request of Codex.

    `id` is ours and is sent to clients, `provider_id` is Codex's. `asked` and `refused` hold client
    ids, `refusal` is the newest refusal. `to_everyone` is true for a request that does not concern
    a client's thread.
    """

    id: str
    provider_id: bytes
    thread_id: str | None
    method: str
    params: bytes
    to_everyone: bool
    turn_id: str | None
    asked: set[str]
    refused: set[str]
    refusal: Reply | None = None


class PendingServerRequests:
    """The open requests of Codex's present epoch.

    `on_opened(thread_id, question_id, method)` and `on_closed(thread_id, question_id, outcome,
    *entries)` record them in the journal, with what was asked and answered in words.
    `on_waiting(thread_id, item_id, is_waiting)` is told of an item that a person is asked about,
    and when it was allowed.
    """

    def __init__(
        self,
        clients: Clients,
        answerer: Callable[[], Answerer | None],
        on_opened: Callable[[str, str, str], None],
        on_closed: Callable[..., None],
        on_waiting: Callable[[str, str, bool], None],
    ) -> None:
        self._clients = clients
        self._answerer = answerer
        self._on_opened = on_opened
        self._on_closed = on_closed
        self._on_waiting = on_waiting
        self._open: dict[str, ServerRequest] = {}
        self._settled: dict[bytes, tuple[str, Client]] = {}

    def __len__(self) -> int:
        """Returns how many requests are open."""
        return len(self._open)

    def ask(
        self,
        thread_id: str | None,
        provider_id: Raw,
        method: str,
        params: bytes,
        *,
        to_everyone: bool,
    ) -> None:
        """Sends a request of Codex to its thread's clients, also to later ones; with `to_everyone`,
        to every client.

        Codex repeats its open requests whenever a thread is resumed (measured: 0.163); a repeated
        one is ignored.
        """
        if bytes(provider_id) in self._settled or any(
            known.provider_id == bytes(provider_id) for known in self._open.values()
        ):
            return
        named = as_dict(msgspec.json.decode(params)).get("turnId") if params else None
        turn_id = named if isinstance(named, str) else None
        question = ServerRequest(
            new_uuid7(),
            bytes(provider_id),
            thread_id,
            method,
            params,
            to_everyone,
            turn_id,
            set(),
            set(),
        )
        self._open[question.id] = question
        if thread_id is not None:
            self._on_opened(thread_id, question.id, method)
        self._tell_waiting(question, is_waiting=True)
        for client in self._recipients(question):
            self._send(question, client)

    def resend_pending(self, client: Client, thread_id: str | None, *, again: bool) -> None:
        """Sends a client the open requests of a thread, or those to every client if `thread_id` is
        None.

        With `again`, requests that the client has already received are sent once more.
        """
        for question in self._open.values():
            concerns = (
                question.to_everyone if thread_id is None else question.thread_id == thread_id
            )
            if concerns and (again or client.id not in question.asked):
                self._send(question, client)

    def answered(self, client: Client, question_id: str, message: Reply) -> bool:
        """Handles a client's response. Returns False, and ignores the response, when no open
        request with this id was sent to the client.

        :raises ProviderFailure: when the answer could not be sent to Codex.
        """
        question = self._open.get(question_id)
        if question is None or client.id not in question.asked:
            return False
        answer = _answer_in(question.method, message)
        if isinstance(message, jsonrpc.ErrorResponse) or answer is None:
            log.info("question_refused", method=question.method, client=client.id)
            question.refused.add(client.id)
            question.refusal = message
            self._refuse_if_all_did(question)
            return True
        answerer = self._answerer()
        if answerer is not None:
            answerer.respond(Raw(question.provider_id), message.result)
        if allows(answer):
            self._tell_waiting(question, is_waiting=False)
        self._remember_answerer(question, client)
        self._close(question, _outcome(answer), client, *_entries(question, answer))
        return True

    def _tell_waiting(self, question: ServerRequest, *, is_waiting: bool) -> None:
        if question.thread_id is not None and question.method.endswith(APPROVAL):
            item_id = as_dict(msgspec.json.decode(question.params)).get("itemId")
            self._on_waiting(question.thread_id, str(item_id), is_waiting)

    def client_left(self) -> None:
        """Passes on the refusal of requests that all remaining clients have refused, after a client
        has disconnected or left a thread.
        """
        for question in list(self._open.values()):
            try:
                self._refuse_if_all_did(question)
            except ProviderFailure as error:
                log.warning("refusal_not_delivered", method=question.method, detail=str(error))

    def resolved_by_provider(self, provider_id: bytes, thread_id: str) -> None:
        """Notifies clients that Codex has resolved a request: those that received it and have not
        been notified of that.
        """
        for question in self._open.values():
            if question.provider_id == provider_id:
                self._close(question, "resolved", except_client=None)
                return
        settled = self._settled.pop(provider_id, None)
        if settled is not None:
            question_id, answerer = settled
            answerer.notify(
                "serverRequest/resolved", {"threadId": thread_id, "requestId": question_id}
            )

    def expire_turn(self, thread_id: str, turn_id: str) -> None:
        """Withdraws the open requests of a turn that has ended. Codex sends no other notification
        for an interrupted tool call (measured: 0.163).
        """
        for question in list(self._open.values()):
            if question.thread_id == thread_id and question.turn_id == turn_id:
                self._close(question, "expired", except_client=None)

    def expire_all(self, reason: str) -> None:
        """Withdraws all open requests, when Codex has ended."""
        self._settled.clear()
        for question in list(self._open.values()):
            log.info(
                "question_expired",
                method=question.method,
                thread_id=question.thread_id,
                reason=reason,
            )
            self._close(question, "expired", except_client=None)

    def _refuse_if_all_did(self, question: ServerRequest) -> None:
        present = {client.id for client in self._recipients(question)}
        answerer = self._answerer()
        if (
            question.refusal is None
            or not present
            or present - question.refused
            or answerer is None
        ):
            return
        log.info("question_refused_by_all", method=question.method, thread_id=question.thread_id)
        _pass_on(question.refusal, Raw(question.provider_id), answerer)
        self._close(question, "refused", except_client=None)

    def _recipients(self, question: ServerRequest) -> list[Client]:
        if question.to_everyone or question.thread_id is None:
            return self._clients.everyone()
        return self._clients.subscribers(question.thread_id)

    def _remember_answerer(self, question: ServerRequest, client: Client) -> None:
        self._settled[question.provider_id] = (question.id, client)
        if len(self._settled) > MAX_SETTLED:
            del self._settled[next(iter(self._settled))]

    def _send(self, question: ServerRequest, client: Client) -> None:
        question.asked.add(client.id)
        question.refused.discard(client.id)
        request = jsonrpc.encode_request(
            msgspec.json.encode(question.id),
            question.method,
            Raw(question.params),
            versioned=client.versioned,
        )
        client.connection.send(request)

    def _close(
        self,
        question: ServerRequest,
        outcome: str,
        except_client: Client | None,
        *entries: ev.EntryRecorded,
    ) -> None:
        self._forget(question, outcome, *entries)
        params = {"threadId": question.thread_id, "requestId": question.id}
        for client in self._clients.all():
            if client is not except_client and client.id in question.asked:
                client.notify("serverRequest/resolved", params)

    def _forget(self, question: ServerRequest, outcome: str, *entries: ev.EntryRecorded) -> None:
        del self._open[question.id]
        if question.thread_id is not None:
            self._on_closed(question.thread_id, question.id, outcome, *entries)


def _answer_in(method: str, message: Reply) -> msgspec.Struct | None:
    return (
        None if isinstance(message, jsonrpc.ErrorResponse) else read_answer(method, message.result)
    )


def _entries(question: ServerRequest, answer: msgspec.Struct) -> list[ev.EntryRecorded]:
    given = given_in(answer)
    if given is None:
        return []
    entry = asked_and_answered(as_dict(msgspec.json.decode(question.params)), given)
    return [] if entry is None else [entry]


def _pass_on(refusal: Reply, request_id: Raw, answerer: Answerer) -> None:
    if isinstance(refusal, jsonrpc.Response):
        answerer.respond(request_id, refusal.result)
        return
    error = jsonrpc.error_object(refusal.error)
    if error is None:
        answerer.respond_error(request_id, _METHOD_NOT_FOUND, "No client answers this.")
    else:
        answerer.respond_error(request_id, error.code, error.message)


def _outcome(answer: msgspec.Struct) -> str:
    return ev.ACCEPTED_FOR_SESSION if is_for_session(answer) else "answered"
