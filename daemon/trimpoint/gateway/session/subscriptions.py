"""Keeps which clients take part in a thread, and sends them its state when they join."""

from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.server_requests import PendingServerRequests


class Subscriptions:
    """Subscribes clients to threads, and sends them the open requests of Codex there."""

    def __init__(self, clients: Clients, questions: PendingServerRequests) -> None:
        self._clients = clients
        self._questions = questions

    def join(
        self, client: Client, thread_id: str, *, raw_events: bool = False, again: bool = False
    ) -> None:
        """Subscribes the client to a thread; `again`: resends every open request, as Codex does on
        `thread/resume`.
        """
        self._clients.join(client, thread_id, raw_events=raw_events)
        self._questions.resend_pending(client, thread_id, again=again)

    def leave(self, client: Client, thread_id: str) -> bool:
        """Ends the client's subscription. Returns whether it had one."""
        was_subscribed = thread_id in client.threads
        client.leave(thread_id)
        self._questions.client_left()
        return was_subscribed

    def exist_for(self, thread_id: str) -> bool:
        """Returns whether a client takes part in the thread."""
        return bool(self._clients.subscribers(thread_id))
