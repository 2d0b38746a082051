"""Clients without a socket; `received` holds the decoded messages that each was sent, in order."""

import json
from itertools import count
from typing import Any, cast

from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.transport.connection import Connection
from trimpoint.transport.wire import Dialect
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.peer import Asked, Peer, Unreadable

_numbers = count(1)


class FakeConnection:
    """Records what is sent over a connection. `lines` holds the bytes objects themselves, which
    clients may share.
    """

    def __init__(self) -> None:
        self.id = f"fake{next(_numbers)}"
        self.dropped_because: str | None = None
        self.sent_bytes = self.queued_bytes = 0
        self.dialect = Dialect.LINES
        self.versioned = False
        self.lines: list[bytes] = []
        self.answers: list[bytes] = []
        self.received: list[dict[str, Any]] = []
        self._peer: Peer[None] = Peer(encode=bytes)

    def send(self, message: bytes) -> None:
        # Not msgspec, which refuses numbers that a client may use as an id (1e400).
        self.received.append(json.loads(message))

    def answer(self, asked: Asked, result: object) -> None:
        self._send_owed(self._peer.answer(asked, result))

    def refuse(self, asked: Asked | Unreadable, error: bytes) -> None:
        self._send_owed(self._peer.refuse_with(asked, error))

    def _send_owed(self, message: bytes) -> None:
        self.answers.append(message)
        self.send(message)

    def send_encoded_lines(self, lines: bytes) -> None:
        self.send_framed(lines)

    def send_framed(self, lines: bytes) -> None:
        assert lines.endswith(b"\n")
        self.lines.append(lines)
        for line in lines[:-1].split(b"\n"):
            self.send(line)


class FakeClient:
    """A client with its connection."""

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


def client_request(fake_client: FakeClient, message: bytes) -> ClientRequest:
    """Returns the request that the gateway makes of a client's message."""
    request = jsonrpc.decode(message)
    assert isinstance(request, jsonrpc.Request)
    return ClientRequest(fake_client.client, Asked(request))
