"""Codex's own terminal UI: it is sent what it alone can show, and nothing that it cannot."""

from collections.abc import Iterable

from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.transport.wire import CloseCode, Dialect

NAME = "codex-tui"
# Notifications of trimpoint's own, which it does not know.
NOT_SHOWN = frozenset({"context/updated", "commands/progress", "sidecar/answerIgnored"})


def is_codex_tui(client: Client) -> bool:
    """Return whether a client is the UI, by the name that it introduced itself with."""
    return client.name == NAME


def unknown_to(client_name: str) -> frozenset[str]:
    """Return the notifications that a client of this name is not sent."""
    return NOT_SHOWN if client_name == NAME else frozenset()


def send_to_read_again(clients: Iterable[Client]) -> list[Client]:
    """End the connections of those that then come back at once and read the thread anew.

    The UI shows turns that were taken back until it reads them again, and it does so only when it
    connects. Returns the clients that stay.
    """
    staying = list[Client]()
    for client in clients:
        if is_codex_tui(client) and client.connection.dialect is Dialect.WEBSOCKET:
            client.connection.close("it has to read the thread anew", CloseCode.SERVICE_RESTART)
        else:
            staying.append(client)
    return staying


def as_typed_there(answer: str) -> str:
    """Return an answer with the way back as it can be typed: the UI keeps a slash for itself."""
    return answer.replace("To undo: /", "To undo: :")
