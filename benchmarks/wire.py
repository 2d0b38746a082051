"""A blocking client, used in the same way over a daemon's socket and over a child's pipes, so that
both cost the same.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.peer import Answered, Event, Peer
from trimpoint_protocol.peer import Refused as PeerRefused

Message = dict[str, Any]


class Refused(Exception):
    """Raised when the response is an error."""


class JsonRpcClient:
    """A blocking client. Messages are read from `lines` and passed whole to `send`. Notifications
    are dropped unless a caller waits for them.
    """

    def __init__(self, lines: BinaryIO, send: Callable[[bytes], object]) -> None:
        self._lines = lines
        self._send = send
        self._peer: Peer[None] = Peer(decode=jsonrpc.decode_trusted)

    def request(self, method: str, /, **params: Any) -> Message:
        """Sends a request and returns its result.

        :raises Refused: when the response is an error.
        :raises EOFError: when the connection is closed.
        """
        call_id, data = self._peer.call(method, params, context=None)
        self._send(data)
        for event in self._events():
            match event:
                case PeerRefused(call, error) if call.id == call_id:
                    raise Refused(f"{method}: {bytes(error).decode()}")
                case Answered(call, result) if call.id == call_id:
                    decoded: Message = msgspec.json.decode(result)
                    return decoded
                case _:
                    pass
        raise EOFError("the other side closed the connection")

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """Returns the next notification for which `wanted` is true.

        :raises EOFError: when the connection is closed.
        """
        for event in self._events():
            if isinstance(event, jsonrpc.Notification):
                message: Message = msgspec.json.decode(event.wire)
                if wanted(message):
                    return message
        raise EOFError("the other side closed the connection")

    def _events(self) -> Iterator[Event[None]]:
        while line := self._lines.readline():
            self._peer.feed(line)
            while (event := self._peer.next_event()) is not None:
                yield event

    def initialize(self) -> None:
        """Shakes hands."""
        self.request(
            "initialize",
            clientInfo={"name": "bench", "version": "1"},
            capabilities={"experimentalApi": True},
        )
        self._send(b'{"method":"initialized"}\n')

    def start_thread(self, cwd: Path) -> Message:
        """Starts a thread that asks for no approval."""
        answer = self.request(
            "thread/start", cwd=str(cwd), approvalPolicy="never", sandbox="danger-full-access"
        )
        thread: Message = answer["thread"]
        return thread

    def turn(self, thread_id: str, text: str) -> str:
        """Runs a whole turn, from the prompt to its end; returns its id."""
        started = self.request(
            "turn/start", threadId=thread_id, input=[{"type": "text", "text": text}]
        )
        self.until(
            lambda message: (
                message.get("method") == "turn/completed"
                and message["params"]["threadId"] == thread_id
            )
        )
        return str(started["turn"]["id"])


def connected(path: Path) -> tuple[JsonRpcClient, socket.socket]:
    """Returns an initialized client of the daemon at a socket, and its socket."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(path))
    wire = JsonRpcClient(sock.makefile("rb"), sock.sendall)
    wire.initialize()
    return wire, sock
