"""The notifications that Codex sends right after `initialize`, kept for clients that connect later
(measured: 0.163).

Codex has one connection, the daemon's, and sends them once in each epoch; a client connected
directly would receive them.
"""

from trimpoint.gateway.session.clients import Client, Delivery

STARTUP_METHODS = frozenset({"configWarning", "remoteControl/status/changed"})
# Of other methods only the newest notification counts. There may be several warnings; the bound
# protects against a Codex that warns without end.
MAX_WARNINGS = 32


class StartupNotifications:
    """The startup notifications of the running Codex."""

    def __init__(self) -> None:
        self._lines: dict[bytes, tuple[str, bytes]] = {}

    def note(self, method: str, line: bytes) -> None:
        """Keeps a notification if its method is one of `STARTUP_METHODS`."""
        if method == "configWarning" and len(self._lines) < MAX_WARNINGS:
            self._lines[line] = (method, line)
        elif method in STARTUP_METHODS and method != "configWarning":
            self._lines[method.encode()] = (method, line)

    def forget(self) -> None:
        """Removes the notifications of a Codex that has ended; the next one sends its own."""
        self._lines.clear()

    def to(self, client: Client) -> None:
        """Sends the kept notifications to a client that has just been initialized."""
        for method, line in self._lines.values():
            if client.wants(None, method):
                Delivery(method, lambda line=line: line).to((client,))  # type: ignore[misc]
