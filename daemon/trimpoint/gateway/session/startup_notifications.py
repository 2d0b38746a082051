"""What Codex tells a connection right after `initialize`, kept for the clients that come later
(measured: 0.163).

Codex has one connection, ours, and says it once for each child; straight on Codex every client
would be told.
"""

from trimpoint.gateway.session.clients import Client, Delivery

STARTUP_METHODS = frozenset({"configWarning", "remoteControl/status/changed"})
# Of the rest the newest is the state of things; warnings are several, but a Codex that warns
# without end is not kept in full.
MAX_WARNINGS = 32


class StartupNotifications:
    """Of the present child."""

    def __init__(self) -> None:
        self._lines: dict[bytes, tuple[str, bytes]] = {}

    def note(self, method: str, line: bytes) -> None:
        """Keep a notification, if it is one of these."""
        if method == "configWarning" and len(self._lines) < MAX_WARNINGS:
            self._lines[line] = (method, line)
        elif method in STARTUP_METHODS and method != "configWarning":
            self._lines[method.encode()] = (method, line)

    def forget(self) -> None:
        """Forgets the notifications of a child that has ended; its successor sends its own."""
        self._lines.clear()

    def to(self, client: Client) -> None:
        """Tell a client that has just been initialized."""
        for method, line in self._lines.values():
            if client.wants(None, method):
                Delivery(method, lambda line=line: line).to((client,))  # type: ignore[misc]
