"""The clients that are connected: who each one is, what it follows, and the delivery of notifications to those who should hear them.

Encoded once, written to many: a line is made at most once per dialect, whatever the number of clients.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from trimpoint.gateway.connection import Connection

# What Codex sends to every connection (measured); everything else about a thread goes to its subscribers.
TO_EVERYONE = frozenset(
    {
        "thread/started", "thread/status/changed", "thread/closed", "thread/readState/changed", "thread/archived",
        "thread/unarchived", "thread/deleted", "thread/name/updated",
    }
)  # fmt: skip
RAW_EVENTS = frozenset({"rawResponseItem/completed", "rawResponse/completed"})


class Client:
    """One connection and what was agreed with it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.initialized = False
        self.versioned = False
        self.name = ""
        self.opted_out: frozenset[str] = frozenset()
        self.threads: set[str] = set()
        self.raw_threads: set[str] = set()
        self.followed: set[str] = set()

    @property
    def id(self) -> str:
        """The connection's id."""
        return self.connection.id

    def wants(self, thread_id: str | None, method: str) -> bool:
        """Whether a notification is for this client."""
        if not self.initialized or method in self.opted_out:
            return False
        if thread_id is None or method in TO_EVERYONE:
            return True
        return thread_id in self.threads and (method not in RAW_EVENTS or thread_id in self.raw_threads)

    def notify(self, method: str, params: Any) -> None:
        """Send one notification of ours, unless the client opted out of it."""
        if method not in self.opted_out:
            Delivery(method, lambda: msgspec.json.encode({"method": method, "params": params})).to((self,))


class Delivery:
    """One notification on its way to some clients; `encode` is called when the first of them needs it."""

    def __init__(self, method: str, encode: Callable[[], bytes]) -> None:
        self.method = method
        self._encode = encode
        self._plain: bytes | None = None
        self._versioned: bytes | None = None

    def to(self, clients: Iterable[Client]) -> None:
        """Put it into each client's outbox."""
        for client in clients:
            client.connection.send_encoded_line(self._versioned_line() if client.versioned else self._plain_line())

    def _plain_line(self) -> bytes:
        if self._plain is None:
            self._plain = self._encode() + b"\n"
        return self._plain

    def _versioned_line(self) -> bytes:
        if self._versioned is None:
            self._versioned = b'{"jsonrpc":"2.0",' + self._plain_line()[1:]
        return self._versioned


class Clients:
    """All connected clients."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def add(self, connection: Connection) -> Client:
        """A client has connected."""
        client = Client(connection)
        self._clients[connection.id] = client
        return client

    def remove(self, client: Client) -> None:
        """A client is gone."""
        self._clients.pop(client.id, None)

    def of(self, connection: Connection) -> Client:
        """The client behind a connection."""
        return self._clients[connection.id]

    def all(self) -> list[Client]:
        """Every client, in order of connection."""
        return list(self._clients.values())

    def deliver(self, thread_id: str | None, method: str, encode: Callable[[], bytes]) -> None:
        """Send a notification to everyone who should hear it."""
        wanting = [client for client in self._clients.values() if client.wants(thread_id, method)]
        if wanting:
            Delivery(method, encode).to(wanting)

    def subscribers(self, thread_id: str) -> list[Client]:
        """Clients that take part in a thread, and so may answer its questions."""
        return [client for client in self._clients.values() if client.initialized and thread_id in client.threads]

    def followers(self, thread_id: str) -> list[Client]:
        """Clients that follow a thread's events."""
        return [client for client in self._clients.values() if thread_id in client.followed]
