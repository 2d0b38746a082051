"""Rules for Codex's own terminal UI, which differs from other clients in the notifications that it
understands.
"""

from collections.abc import Iterable

from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.transport.wire import CloseCode, Dialect

NAME = "codex-tui"
# Notifications of trimpoint's own, which it does not know.
NOT_SHOWN = frozenset({"context/updated", "commands/progress", "sidecar/answerIgnored"})


def is_codex_tui(client: Client) -> bool:
    """Returns whether a client is Codex's terminal UI, judged by the name in its `initialize`."""
    return client.name == NAME


def is_open_in_codex_tui(clients: Clients, thread_id: str) -> bool:
    """Returns whether one of the clients that are subscribed to a thread is Codex's terminal UI."""
    return any(map(is_codex_tui, clients.subscribers(thread_id)))


def unknown_to(client_name: str) -> frozenset[str]:
    """Returns the notifications that are not sent to a client of this name, because it does not
    know them.
    """
    return NOT_SHOWN if client_name == NAME else frozenset()


def send_to_read_again(clients: Iterable[Client]) -> list[Client]:
    """Closes the connections of Codex's terminal UIs, and returns the clients that stay connected.

    The UI shows turns that were reverted until it reads the thread again, which it does only when
    it connects. It reconnects at once after this close code.
    """
    staying = list[Client]()
    for client in clients:
        if is_codex_tui(client) and client.connection.dialect is Dialect.WEBSOCKET:
            client.connection.close("it has to read the thread anew", CloseCode.SERVICE_RESTART)
        else:
            staying.append(client)
    return staying
