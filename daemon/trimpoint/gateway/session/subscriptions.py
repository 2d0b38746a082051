"""Subscribes clients to threads, and sends them the open requests of Codex when they join."""

from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.server_requests import PendingServerRequests


class Subscriptions:
    """The subscriptions of clients to threads."""

    def __init__(self, clients: Clients, questions: PendingServerRequests) -> None:
        self._clients = clients
        self._questions = questions

    def join(
        self, client: Client, thread_id: str, *, raw_events: bool = False, again: bool = False
    ) -> None:
        """Subscribes the client to a thread, and sends it the thread's open requests.

        With `again`, requests that the client has already received are sent once more, as Codex
        does on `thread/resume`.
        """
        self._clients.join(client, thread_id, raw_events=raw_events)
        self._questions.resend_pending(client, thread_id, again=again)

    def leave(self, client: Client, thread_id: str) -> bool:
        """Ends the client's subscription to a thread, and returns whether it had one."""
        was_subscribed = thread_id in client.threads
        client.leave(thread_id)
        self._questions.client_left()
        return was_subscribed

    def exist_for(self, thread_id: str) -> bool:
        """Returns whether any client is subscribed to the thread."""
        return bool(self._clients.subscribers(thread_id))
