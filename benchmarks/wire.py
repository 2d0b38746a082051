"""A blocking client, the same over a daemon's socket and over a child's pipes, so that both ways
cost it the same.
"""

import socket
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

Message = dict[str, Any]


class Refused(Exception):
    """The answer was an error."""


class JsonRpcClient:
    """`lines` is read line by line, `send` takes whole messages. Notifications that nobody waits
    for are dropped.
    """

    def __init__(self, lines: BinaryIO, send: Callable[[bytes], object]) -> None:
        self._lines = lines
        self._send = send
        self._ids = count(1)

    def request(self, method: str, /, **params: Any) -> Message:
        """The result.

        :raises Refused: it was an error.
        """
        request_id = self.ask(method, **params)
        answer = self.until(
            lambda message: message.get("id") == request_id and "method" not in message
        )
        if "error" in answer:
            raise Refused(f"{method}: {answer['error']}")
        result: Message = answer["result"]
        return result

    def ask(self, method: str, /, **params: Any) -> int:
        """Send a request and do not wait; its id."""
        request_id = next(self._ids)
        self._send(
            msgspec.json.encode({"id": request_id, "method": method, "params": params}) + b"\n"
        )
        return request_id

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The next message that is wanted.

        :raises EOFError: the other side is gone.
        """
        while line := self._lines.readline():
            message: Message = msgspec.json.decode(line)
            if wanted(message):
                return message
        raise EOFError("the other side closed the connection")

    def initialize(self) -> None:
        """Shake hands."""
        self.request(
            "initialize",
            clientInfo={"name": "bench", "version": "1"},
            capabilities={"experimentalApi": True},
        )
        self._send(b'{"method":"initialized"}\n')

    def start_thread(self, cwd: Path) -> Message:
        """A new thread that asks nobody for anything."""
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
    """A client at a daemon's socket that has shaken hands, and the socket to close."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(path))
    wire = JsonRpcClient(sock.makefile("rb"), sock.sendall)
    wire.initialize()
    return wire, sock
