"""Clients without a socket: what each was sent is in `received`, decoded, in order."""

from itertools import count
from typing import Any, cast

import msgspec
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.transport.connection import Connection
from trimpoint.gateway.transport.wire import Dialect

_numbers = count(1)


class FakeConnection:
    """Takes what a connection takes. `lines` are the very objects that were handed over to be
    written to many.
    """

    def __init__(self) -> None:
        self.id = f"fake{next(_numbers)}"
        self.dropped_because: str | None = None
        self.sent_bytes = self.queued_bytes = 0
        self.dialect = Dialect.LINES
        self.lines: list[bytes] = []
        self.received: list[dict[str, Any]] = []

    def send(self, message: bytes) -> None:
        self.received.append(msgspec.json.decode(message))

    def answer(self, message: bytes) -> None:
        self.send(message)

    def send_encoded_lines(self, lines: bytes) -> None:
        self.send_framed(lines)

    def send_framed(self, lines: bytes) -> None:
        assert lines.endswith(b"\n")
        self.lines.append(lines)
        for line in lines[:-1].split(b"\n"):
            self.send(line)


class FakeClient:
    """A client and its connection."""

    def __init__(
        self,
        clients: Clients,
        *threads: str,
        initialized: bool = True,
        opted_out: frozenset[str] = frozenset(),
    ) -> None:
        self.connection = FakeConnection()
        self.client: Client = clients.add(cast("Connection", self.connection))
        if initialized:
            self.client.introduce("guest", opted_out, experimental=True)
        for thread_id in threads:
            clients.join(self.client, thread_id)

    @property
    def received(self) -> list[dict[str, Any]]:
        return self.connection.received

    def methods(self) -> list[str]:
        return [message.get("method", "answer") for message in self.received]
