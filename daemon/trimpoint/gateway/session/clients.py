"""The connected clients, their subscriptions, and the delivery of notifications to subscribers.

A notification is encoded at most once for each dialect, whatever the number of clients.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec
from trimpoint_protocol.shapes.notices import Notice

from trimpoint.gateway.session.pace import Pace
from trimpoint.transport.connection import Connection
from trimpoint.transport.wire import Dialect, frame_lines

# The notifications that Codex sends to every connection (measured); all others about a thread go to
# its subscribers.
BROADCAST_METHODS = frozenset(
    {
        "thread/started", "thread/status/changed", "thread/closed", "thread/readState/changed",
        "thread/archived", "thread/unarchived", "thread/deleted", "thread/name/updated",
        "thread/goal/updated", "thread/goal/cleared", "thread/attachment/updated",
    }
)  # fmt: skip
RAW_EVENTS = frozenset({"rawResponseItem/completed", "rawResponse/completed"})
# Notifications that Codex does not send to a connection without the experimental API, beside those
# that begin with `REALTIME` (measured: 0.163, 0.171; the schema does not tell).
EXPERIMENTAL = frozenset(
    {
        "project/changed",
        "thread/project/updated",
        "thread/queue/changed",
        "thread/readState/changed",
        "thread/settings/updated",
    }
)
REALTIME = "thread/realtime/"
VERSIONED = b'{"jsonrpc":"2.0",'


class Client:
    """A connected client: its connection, the capabilities agreed in `initialize`, and its
    subscriptions.

    `on_changed` is called whenever the set of notifications that the client wants may have changed.
    """

    def __init__(self, connection: Connection, on_changed: Callable[[], None]) -> None:
        self.connection = connection
        self.initialized = False
        self.handshake: anyio.Event | None = None
        """None before `initialize` arrives; set once `initialize` has been answered."""
        self.name = ""
        self.opted_out: frozenset[str] = frozenset()
        self.experimental = False
        """Whether the client asked for Codex's experimental API."""
        self.threads: set[str] = set()
        self.raw_threads: set[str] = set()
        self.launch = b""
        """The client's launch request, encoded as in journals; empty if it made none."""
        self.profile = ""
        """The key of the launch profile that serves this client."""
        self.followed: dict[str, int] = {}
        self.has_notices = False
        """Whether the client is sent the notices of all threads."""
        self._on_changed = on_changed

    @property
    def id(self) -> str:
        """Returns the connection's id."""
        return self.connection.id

    @property
    def folder(self) -> str | None:
        """Returns the working directory of the client's process, or None if it is not known."""
        return self.connection.folder

    @property
    def versioned(self) -> bool:
        """Returns whether messages to this client carry the member `jsonrpc`."""
        return self.connection.versioned

    def introduce(
        self, name: str, opted_out: frozenset[str], *, experimental: bool = False
    ) -> None:
        """Records the client's name and capabilities at the end of the handshake."""
        self.name, self.opted_out, self.experimental, self.initialized = (
            name,
            opted_out,
            experimental,
            True,
        )
        self._on_changed()

    def join(self, thread_id: str, *, raw_events: bool = False) -> None:
        """Subscribes the client to a thread; with `raw_events`, to the thread's raw response items
        as well.
        """
        self.threads.add(thread_id)
        if raw_events:
            self.raw_threads.add(thread_id)
        self._on_changed()

    def leave(self, thread_id: str) -> None:
        """Unsubscribes the client from a thread."""
        self.threads.discard(thread_id)
        self.raw_threads.discard(thread_id)
        self._on_changed()

    def wants(self, thread_id: str | None, method: str) -> bool:
        """Returns whether a notification of this method about this thread is sent to the client.

        `thread_id` is None for a notification that does not concern a thread.
        """
        if not self.initialized or method in self.opted_out:
            return False
        if not self.experimental and (method in EXPERIMENTAL or method.startswith(REALTIME)):
            return False
        if method in RAW_EVENTS:
            return thread_id in self.threads and thread_id in self.raw_threads
        return thread_id is None or method in BROADCAST_METHODS or thread_id in self.threads

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification of trimpoint's own, unless the client opted out of it or has not
        completed the handshake.
        """
        if self.initialized and method not in self.opted_out:
            Delivery(method, lambda: msgspec.json.encode({"method": method, "params": params})).to(
                (self,)
            )


class Delivery:
    """One or more notifications of one method that are sent to several clients.

    `encode` returns one message, or several with newlines between them. It is called when the first
    client needs the bytes, and its result is kept for the others.
    """

    def __init__(self, method: str, encode: Callable[[], bytes]) -> None:
        self.method = method
        self._encode = encode
        self._lines: dict[bool, bytes] = {}
        self._framed: dict[tuple[Dialect, bool], bytes] = {}

    def to(self, clients: Iterable[Client]) -> None:
        """Queues the notifications for each of the clients, in the client's own framing."""
        for client in clients:
            kind = client.connection.dialect, client.versioned
            framed = self._framed.get(kind)
            if framed is None:
                framed = self._framed[kind] = frame_lines(
                    self._lines_for(client.versioned), client.connection.dialect
                )
            client.connection.send_framed(framed)

    def _lines_for(self, versioned: bool) -> bytes:
        lines = self._lines.get(versioned)
        if lines is None:
            lines = self._versioned_lines() if versioned else self._encode() + b"\n"
            self._lines[versioned] = lines
        return lines

    def _versioned_lines(self) -> bytes:
        # A message begins with a brace and has no newline in it.
        return VERSIONED + self._lines_for(False)[1:].replace(b"\n{", b"\n" + VERSIONED)


class Roster:
    """The connected clients and what is counted about them, shared by all views."""

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        self.private: set[str] = set()
        self.interested: dict[tuple[str | None, str | None, str], list[Client]] = {}
        self.connected = 0
        """How many clients have connected since the daemon started."""
        self.dropped = 0
        """How many of those clients were dropped because they did not read."""
        self.requests = 0
        self.served = 0
        """How many requests without a connected client are being answered."""
        self.departed_bytes = 0
        self.empty_since_s = time.monotonic()


class Clients:
    """The connected clients: all of them, or as the Codex of one launch profile sees them.

    For a launch profile, notifications that do not concern a thread, and those that go to every
    connection, reach only the clients of that profile. Everything else is the same.
    """

    def __init__(
        self, pace: Pace | None = None, profile: str | None = None, roster: Roster | None = None
    ) -> None:
        self.profile = profile
        """The key of the launch profile; None: all clients."""
        self.roster = roster or Roster()
        self._pace = pace

    def of_profile(self, profile: str, pace: Pace) -> "Clients":
        """Returns the same clients, as the Codex of a launch profile sees them."""
        return Clients(pace, profile, self.roster)

    def __len__(self) -> int:
        return len(self.roster.clients)

    @property
    def absent_s(self) -> float:
        """Returns for how many seconds no client has been connected, and no request was answered; 0
        while a client is connected.
        """
        is_used = self.roster.clients or self.roster.served
        return 0.0 if is_used else time.monotonic() - self.roster.empty_since_s

    @contextmanager
    def serving(self) -> Generator[None]:
        """Counts a request of someone who has no connection, as over REST, as use of the daemon."""
        self.roster.served += 1
        try:
            yield
        finally:
            self.roster.served -= 1
            self.roster.empty_since_s = time.monotonic()

    @property
    def sent_bytes(self) -> int:
        """Returns how many bytes the sockets of all clients have accepted, disconnected clients
        included.
        """
        return self.roster.departed_bytes + sum(
            client.connection.sent_bytes for client in self.roster.clients.values()
        )

    @property
    def queued_bytes(self) -> int:
        """Returns how many bytes are queued for the connected clients."""
        return sum(client.connection.queued_bytes for client in self.roster.clients.values())

    def add(self, connection: Connection) -> Client:
        """Adds a client for a new connection, and returns it."""
        self.roster.connected += 1
        client = Client(connection, self.roster.interested.clear)
        self.roster.clients[connection.id] = client
        self.roster.interested.clear()
        return client

    def remove(self, client: Client) -> None:
        """Removes a client that has disconnected."""
        if self.roster.clients.pop(client.id, None) is not None:
            self.roster.dropped += client.connection.dropped_because is not None
            self.roster.departed_bytes += client.connection.sent_bytes
            self.roster.empty_since_s = time.monotonic()
        self.roster.interested.clear()

    def of(self, connection: Connection) -> Client:
        """Returns the client of a connection."""
        return self.roster.clients[connection.id]

    def by_id(self, client_id: str) -> Client | None:
        """Returns the client with this id, or None if it is not connected."""
        return self.roster.clients.get(client_id)

    def has(self, client: Client) -> bool:
        """Returns whether a client is still connected."""
        return client.id in self.roster.clients

    def all(self) -> list[Client]:
        """Returns every client, in order of connection."""
        return list(self.roster.clients.values())

    def everyone(self) -> list[Client]:
        """Returns the initialized clients that receive notifications and requests that do not
        concern a thread.
        """
        return [
            client
            for client in self.roster.clients.values()
            if client.initialized and self._concerns(client, None)
        ]

    def _concerns(self, client: Client, thread_id: str | None) -> bool:
        """Returns whether the client has this launch profile, or is subscribed to the thread."""
        return self.profile is None or client.profile == self.profile or thread_id in client.threads

    def broadcast(self, thread_id: str | None, method: str, encode: Callable[[], bytes]) -> None:
        """Sends notifications of one method to all clients that want them; `encode` is as for
        `Delivery`.
        """
        key = (self.profile, thread_id, method)
        wanting = self.roster.interested.get(key)
        if wanting is None:
            wanting = [
                client
                for client in self.roster.clients.values()
                if client.wants(thread_id, method) and self._concerns(client, thread_id)
            ]
            self.roster.interested[key] = wanting
        if len(wanting) == 1 and not wanting[0].versioned:
            wanting[0].connection.send_encoded_lines(encode() + b"\n")
        elif wanting:
            Delivery(method, encode).to(wanting)
        if self._pace is not None:
            for client in wanting:
                self._pace.check(client.connection)

    def join(self, client: Client, thread_id: str, *, raw_events: bool = False) -> None:
        """Subscribes a client to a thread. It may be a thread that only Codex knows, such as an
        ephemeral one.
        """
        self.roster.private.add(thread_id)
        client.join(thread_id, raw_events=raw_events)

    async def tell(self, notice: Notice) -> None:
        """Sends a notice to the clients that have asked for notices."""
        for client in self.roster.clients.values():
            if client.has_notices:
                client.notify("orchestration/notice", notice)

    def has_subscribers_for(self, thread_id: str) -> bool:
        """Returns whether any client is subscribed to a thread or follows its events."""
        return any(
            thread_id in client.threads or thread_id in client.followed
            for client in self.roster.clients.values()
        )

    def is_private(self, thread_id: str | None) -> bool:
        """Returns whether any client has ever subscribed to the thread; only subscribers then
        receive its notifications.

        A thread that no client has opened, such as a sub-agent's, is announced to all clients, as
        Codex does (measured: 0.163).
        """
        return thread_id in self.roster.private

    def subscribers(self, thread_id: str) -> list[Client]:
        """Returns the clients that are subscribed to a thread and may answer its requests."""
        return [
            client
            for client in self.roster.clients.values()
            if client.initialized and thread_id in client.threads
        ]

    def recipients_of(self, thread_id: str, method: str) -> list[Client]:
        """Returns the clients that are subscribed to a thread or follow it, and have not opted out
        of `method`.
        """
        return [
            client
            for client in self.roster.clients.values()
            if client.initialized
            and method not in client.opted_out
            and thread_id in client.threads | client.followed.keys()
        ]

    def followers(self, thread_id: str) -> list[Client]:
        """Returns the clients that follow a thread's events."""
        return [client for client in self.roster.clients.values() if thread_id in client.followed]
