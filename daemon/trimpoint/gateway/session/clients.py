"""The clients that are connected: who each one is, what it follows, and the delivery of notifications to those who should hear them.

Encoded once, written to many: a line is made at most once per dialect, whatever the number of clients.
"""

from collections.abc import Callable, Iterable
from typing import Any

import anyio
import msgspec

from trimpoint.gateway.transport.connection import Connection

# What Codex sends to every connection (measured); everything else about a thread goes to its subscribers.
BROADCAST_METHODS = frozenset(
    {
        "thread/started", "thread/status/changed", "thread/closed", "thread/readState/changed", "thread/archived",
        "thread/unarchived", "thread/deleted", "thread/name/updated", "thread/goal/updated", "thread/goal/cleared",
        "thread/attachment/updated",
    }
)  # fmt: skip
RAW_EVENTS = frozenset({"rawResponseItem/completed", "rawResponse/completed"})
# What Codex keeps from a connection without the experimental API (measured: 0.163, 0.171; its schema does not tell), and whatever
# begins with `REALTIME`.
EXPERIMENTAL = frozenset(
    {"project/changed", "thread/project/updated", "thread/queue/changed", "thread/readState/changed", "thread/settings/updated"}
)
REALTIME = "thread/realtime/"
VERSIONED = b'{"jsonrpc":"2.0",'


class Client:
    """One connection and what was agreed with it. `on_changed` is called whenever what it should hear may have changed."""

    def __init__(self, connection: Connection, on_changed: Callable[[], None]) -> None:
        self.connection = connection
        self.initialized = False
        self.handshake: anyio.Event | None = None
        """None before `initialize`; set once that is dealt with."""
        self.versioned = False
        self.name = ""
        self.opted_out: frozenset[str] = frozenset()
        self.experimental = False
        """Whether it asked for the experimental API."""
        self.threads: set[str] = set()
        self.raw_threads: set[str] = set()
        self.followed: set[str] = set()
        self._on_changed = on_changed

    @property
    def id(self) -> str:
        """The connection's id."""
        return self.connection.id

    def introduce(self, name: str, opted_out: frozenset[str], *, experimental: bool = False) -> None:
        """The handshake is done."""
        self.name, self.opted_out, self.experimental, self.initialized = name, opted_out, experimental, True
        self._on_changed()

    def join(self, thread_id: str, *, raw_events: bool = False) -> None:
        """Take part in a thread; with `raw_events`, hear the items the model sees too."""
        self.threads.add(thread_id)
        if raw_events:
            self.raw_threads.add(thread_id)
        self._on_changed()

    def leave(self, thread_id: str) -> None:
        """Take part no longer."""
        self.threads.discard(thread_id)
        self.raw_threads.discard(thread_id)
        self._on_changed()

    def wants(self, thread_id: str | None, method: str) -> bool:
        """Whether a notification is for this client."""
        if not self.initialized or method in self.opted_out:
            return False
        if not self.experimental and (method in EXPERIMENTAL or method.startswith(REALTIME)):
            return False
        if method in RAW_EVENTS:
            return thread_id in self.threads and thread_id in self.raw_threads
        return thread_id is None or method in BROADCAST_METHODS or thread_id in self.threads

    def notify(self, method: str, params: Any) -> None:
        """Send one notification of ours, unless the client opted out of it or has not shaken hands."""
        if self.initialized and method not in self.opted_out:
            Delivery(method, lambda: msgspec.json.encode({"method": method, "params": params})).to((self,))


class Delivery:
    """Notifications on their way to some clients; `encode` is called when the first of them needs it.

    It returns one message, or several of one method with newlines between them.
    """

    def __init__(self, method: str, encode: Callable[[], bytes]) -> None:
        self.method = method
        self._encode = encode
        self._plain: bytes | None = None
        self._versioned: bytes | None = None

    def to(self, clients: Iterable[Client]) -> None:
        """Put them into each client's outbox."""
        for client in clients:
            client.connection.send_encoded_lines(self._versioned_lines() if client.versioned else self._plain_lines())

    def _plain_lines(self) -> bytes:
        if self._plain is None:
            self._plain = self._encode() + b"\n"
        return self._plain

    def _versioned_lines(self) -> bytes:
        if self._versioned is None:
            # A message begins with a brace and has no newline in it.
            self._versioned = VERSIONED + self._plain_lines()[1:].replace(b"\n{", b"\n" + VERSIONED)
        return self._versioned


class Clients:
    """All connected clients."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._private: set[str] = set()
        self._interested: dict[tuple[str | None, str], list[Client]] = {}
        self.connected = 0
        """How many have ever connected."""
        self.dropped = 0
        """How many of those were dropped because they did not read."""
        self.requests = 0
        self._departed_bytes = 0

    def __len__(self) -> int:
        return len(self._clients)

    @property
    def sent_bytes(self) -> int:
        """What all clients, those that are gone included, have taken."""
        return self._departed_bytes + sum(client.connection.sent_bytes for client in self._clients.values())

    @property
    def queued_bytes(self) -> int:
        """What waits for clients to take it."""
        return sum(client.connection.queued_bytes for client in self._clients.values())

    def add(self, connection: Connection) -> Client:
        """A client has connected."""
        self.connected += 1
        client = Client(connection, self._interested.clear)
        self._clients[connection.id] = client
        self._interested.clear()
        return client

    def remove(self, client: Client) -> None:
        """A client is gone."""
        if self._clients.pop(client.id, None) is not None:
            self.dropped += client.connection.dropped_because is not None
            self._departed_bytes += client.connection.sent_bytes
        self._interested.clear()

    def of(self, connection: Connection) -> Client:
        """The client behind a connection."""
        return self._clients[connection.id]

    def by_id(self, client_id: str) -> Client | None:
        """The client with this id, if it is connected."""
        return self._clients.get(client_id)

    def has(self, client: Client) -> bool:
        """Whether a client is still connected."""
        return client.id in self._clients

    def all(self) -> list[Client]:
        """Every client, in order of connection."""
        return list(self._clients.values())

    def broadcast(self, thread_id: str | None, method: str, encode: Callable[[], bytes]) -> None:
        """Send notifications of one method to everyone who should hear them; `encode` as in `Delivery`."""
        wanting = self._interested.get((thread_id, method))
        if wanting is None:
            wanting = [client for client in self._clients.values() if client.wants(thread_id, method)]
            self._interested[thread_id, method] = wanting
        if len(wanting) == 1 and not wanting[0].versioned:
            wanting[0].connection.send_encoded_lines(encode() + b"\n")
        elif wanting:
            Delivery(method, encode).to(wanting)

    def join(self, client: Client, thread_id: str, *, raw_events: bool = False) -> None:
        """A client takes part in a thread from now on, one of ours or one that only Codex knows (an ephemeral one)."""
        self._private.add(thread_id)
        client.join(thread_id, raw_events=raw_events)

    def has_subscribers_for(self, thread_id: str) -> bool:
        """Whether some client takes part in a thread or follows it."""
        return any(thread_id in client.threads or thread_id in client.followed for client in self._clients.values())

    def is_private(self, thread_id: str | None) -> bool:
        """Whether some client ever took part in a thread, so that it is the affair of those who do.

        A thread that no client opened, a sub-agent's, is everyone's affair with Codex (measured: 0.163).
        """
        return thread_id in self._private

    def subscribers(self, thread_id: str) -> list[Client]:
        """Clients that take part in a thread, and so may answer its questions."""
        return [client for client in self._clients.values() if client.initialized and thread_id in client.threads]

    def recipients_of(self, thread_id: str, method: str) -> list[Client]:
        """Clients that take part in a thread or follow it, and want to hear `method`."""
        return [
            client
            for client in self._clients.values()
            if client.initialized and method not in client.opted_out and thread_id in client.threads | client.followed
        ]

    def followers(self, thread_id: str) -> list[Client]:
        """Clients that follow a thread's events."""
        return [client for client in self._clients.values() if thread_id in client.followed]
