"""Sends Codex's notifications and requests, and journaled events, to clients."""

from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.views.view import envelopes
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients, Delivery
from trimpoint.gateway.session.live_items import LiveItems
from trimpoint.gateway.session.played_turns import PlayedTurns
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.gateway.session.startup_notifications import StartupNotifications
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.sequencer import now_ms

REQUEST_RESOLVED = "serverRequest/resolved"
# Codex's warning about the way in which trimpoint reads the turns of a thread that it adopts.
ABOUT_US = ("deprecationNotice", b"Full-history hydration is deprecated")
THREAD_EVENT = "orchestration/event"

Interceptor = Callable[[str | None, Raw, str, Raw], bool]
"""Called with the thread id, request id, method and parameters of a request of Codex. Returns True
if it answers the request itself.
"""


class CodexEvents:
    """Sends Codex's notifications and requests to clients. Implements `ClientSink`."""

    def __init__(
        self,
        clients: Clients,
        identity: Identity,
        handles: Handles,
        server_requests: PendingServerRequests,
        startup: StartupNotifications,
        played: PlayedTurns,
    ) -> None:
        self._clients = clients
        self._identity = identity
        self._handles = handles
        self._server_requests = server_requests
        self._startup = startup
        self._played = played
        self.live = LiveItems(identity)
        self._interceptors: list[Interceptor] = []

    def add_interceptor(self, interceptor: Interceptor) -> None:
        """Registers an interceptor, which may answer requests of Codex before clients receive
        them.
        """
        self._interceptors.append(interceptor)

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        """Sends a notification of Codex to its subscribers, or to all clients if it does not
        concern a thread.

        `thread_id` is the stable id, or None for a notification that is not about a thread of ours.
        """
        method, line = message.method, message.line
        if method == ABOUT_US[0] and ABOUT_US[1] in line:
            return
        about = thread_id if thread_id is not None else message.thread_id
        if method == REQUEST_RESOLVED and about is not None:
            request_id = message.raw("requestId")
            if request_id is not None:
                self._server_requests.resolved_by_provider(bytes(request_id), about)
        elif thread_id is not None:
            self.live.note(thread_id, message)
            self._clients.broadcast(
                thread_id, method, lambda: self._identity.notification_to_client(method, line)
            )
            if method == "turn/completed":
                turn_id = str(message.object("turn").get("id"))
                self._server_requests.expire_turn(thread_id, self._identity.turn_of(turn_id))
        elif not self._handles.route_notification(message):
            self._startup.note(method, line)
            audience = about if self._clients.is_private(about) else None
            self._clients.broadcast(audience, method, lambda: self._identity.to_client(line))

    def publish_compaction(self, thread_id: str, message: CodexMessage) -> None:
        """Sends a notification about the turn of a compaction. If the compaction was started by a
        typed command, clients see it as part of that command's played turn.
        """
        shown = self._played.as_its_own(thread_id, message)
        if shown is not None and self._played.compactions.note(thread_id, shown):
            self.publish(thread_id, shown)

    def end_compaction(self, thread_id: str, why: str) -> None:
        """Ends the turn of a compaction whose operation has ended, for clients that were not told
        its end.
        """
        for message in self._played.compactions.endings(thread_id, why):
            self.publish(thread_id, message)

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Sends a run of notifications of one method that are identical up to the end of their
        thread id. They are joined and encoded once for all clients.
        """
        self.live.note_run(thread_id, method, lines)
        self._clients.broadcast(
            thread_id, method, lambda: self._identity.run_to_client(method, lines)
        )

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None:
        """Sends a request of Codex to clients, unless an interceptor answers it."""
        if any(answers(thread_id, request_id, method, params) for answers in self._interceptors):
            return
        about = thread_id if thread_id is not None else _thread_named(params)
        to_everyone = thread_id is None and not self._clients.is_private(about)
        shown = self._identity.to_client(bytes(params)) or b"{}"
        self._server_requests.ask(about, request_id, method, shown, to_everyone=to_everyone)

    def expire_server_requests(self, reason: str) -> None:
        """Withdraws the open requests of a Codex that has ended, ends its live items for clients,
        and forgets its handles and startup notifications.
        """
        self._startup.forget()
        for thread_id, message in self.live.ended(now_ms()):
            self.publish(thread_id, message)
        self._handles.forget_epoch()
        self._server_requests.expire_all(reason)


class ThreadEvents:
    """Sends journaled events to the clients that follow a thread, and records in the journal which
    requests of Codex are open.
    """

    def __init__(self, registry: ThreadRegistry, clients: Clients, identity: Identity) -> None:
        self._registry = registry
        self._clients = clients
        self._identity = identity

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Sends the events of a record to the thread's followers. Subscribed to the registry's
        records.
        """
        followers = [
            client
            for client in self._clients.followers(thread_id)
            if THREAD_EVENT not in client.opted_out
        ]
        writer = self._registry.loaded(thread_id)
        if not followers or writer is None:
            return
        for envelope in envelopes(writer.state, record):
            line = self._identity.to_client(
                msgspec.json.encode({"method": THREAD_EVENT, "params": envelope})
            )
            # A snapshot may have had events that became durable only now.
            unaware = [one for one in followers if envelope.sequence > one.followed[thread_id]]
            Delivery(THREAD_EVENT, partial(bytes, line)).to(unaware)

    def on_request_opened(self, thread_id: str, question_id: str, method: str) -> None:
        """Records that a request of Codex waits for an answer."""
        if (writer := self._registry.loaded(thread_id)) is not None:
            writer.record_facts(ev.RequestOpened(question_id, method))

    def on_request_closed(
        self, thread_id: str, question_id: str, outcome: str, *entries: ev.EntryRecorded
    ) -> None:
        """Records that a request of Codex was answered, refused or withdrawn, and what was asked
        and answered.
        """
        if (writer := self._registry.loaded(thread_id)) is not None:
            writer.record_facts(*entries, ev.RequestClosed(question_id, outcome))


def _thread_named(params: Raw) -> str | None:
    """Returns the thread id in a request's parameters, or None if there is none."""
    named = as_dict(msgspec.json.decode(params)).get("threadId") if params else None
    return named if isinstance(named, str) else None
