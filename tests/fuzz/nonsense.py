"""Input of a broken or hostile client: nearly correct requests, mutated bytes, torn frames. A pure
function of its seed.

The input cannot harm the machine even if it is executed: no method runs a program or names a file
outside of the test's folders.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

WORDS = (
    "", " ", "a", "/clear", "/clear 2", "/compact --force", "/compress", "/new", "/help clear", "/nonsense", "é🦀", "\u0000", "\u2028", "../..",
    "x" * 300, "null", "01900000-0000-7000-8000-000000000000", "item/completed", "all", "\\", '"', "thread/list", "2.0",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 1e308, -0.0, 1.5, 10**40)
MEMBERS = (
    "threadId", "text", "commandId", "input", "turnId", "cursor", "limit", "expand",
    "afterSequence", "cwd", "command", "type", "keep", "items", "name", "numTurns", "turnCount",
    "guidance", "clientInfo", "capabilities", "__proto__", "threadID", "trace", "beforeTurnId",
)  # fmt: skip
COMMANDS = (
    "thread.context.trim", "thread.context.compact", "thread.context.discard",
    "thread.archive-and-new", "thread.checkpoint.revert", "thread.session.stop",
    "thread.session.start", "thread.archive", "thread.unarchive", "thread.rename",
    "thread.nonsense",
)  # fmt: skip
METHODS = (
    "initialize", "initialized", "commands/list", "commands/complete", "commands/execute",
    "orchestration/dispatch", "orchestration/subscribeThread", "orchestration/unsubscribeThread",
    "orchestration/snapshot", "timeline/read", "sidecar/status", "thread/list", "thread/read",
    "orchestration/subscribeNotices",
    "thread/resume", "thread/turns/list", "thread/items/list", "thread/unsubscribe",
    "thread/name/set", "thread/archive", "thread/unarchive", "thread/loaded/list", "thread/revert",
    "turn/start", "turn/interrupt", "turn/steer", "model/list", "rpc.discover", "no/such/method",
    "", "thread/",
)  # fmt: skip


class SentFrames(NamedTuple):
    """Bytes to send. `owed` are the ids that must be answered exactly once."""

    data: bytes
    owed: tuple[str, ...] = ()


class Nonsense:
    """Makes random input. `thread_id` is an existing thread, so that some requests take effect."""

    def __init__(self, seed: int, thread_id: str) -> None:
        self._random = Random(seed)
        self._thread_id = thread_id
        self._name = f"s{seed}"
        self._numbers = 0
        self._kinds: list[Callable[[], SentFrames]] = [
            self._request, self._request, self._request, self._command, self._batch, self._mutated, self._garbage, self._nested, self._reply,
            self._odd_envelope,
        ]  # fmt: skip

    def something(self) -> SentFrames:
        """Returns one frame's content, without framing and without newlines."""
        said = self._random.choice(self._kinds)()
        return SentFrames(said.data.replace(b"\n", b" "), said.owed)

    def framed(self, data: bytes) -> bytes:
        """Returns a `Content-Length` frame, sometimes a wrong one."""
        header = self._random.choice(
            (b"Content-Length: %d", b"content-length:%d", b"X: y\r\nContent-Length: %d")
        )
        length = len(data) + self._random.choice((0,) * 20 + (1, -1, 10**12))
        return header % max(0, length) + b"\r\n\r\n" + data

    def cut(self, data: bytes) -> list[bytes]:
        """Returns the bytes in pieces, as a stream may deliver them."""
        places = sorted(
            self._random.randrange(len(data) + 1)
            for _ in range(self._random.choice((0, 0, 1, 3, 20)))
        )
        return [
            data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)
        ]

    def chance(self, share: float) -> bool:
        """Returns True with this probability."""
        return self._random.random() < share

    def _id(self) -> str:
        self._numbers += 1
        return f"{self._name}-{self._numbers}"

    def _request(self) -> SentFrames:
        request_id = self._id()
        message: dict[str, Any] = {
            "id": request_id,
            "method": self._random.choice(METHODS),
            "params": self._params(),
        }
        if self.chance(0.3):
            message["jsonrpc"] = "2.0"
        return SentFrames(json.dumps(message).encode(), (request_id,))

    def _command(self) -> SentFrames:
        request_id = self._id()
        command = {
            "type": self._random.choice(COMMANDS),
            "commandId": self._id(),
            "threadId": self._thread_id,
            **self._params(),
        }
        message = {
            "id": request_id,
            "method": "orchestration/dispatch",
            "params": {"command": command},
        }
        return SentFrames(json.dumps(message).encode(), (request_id,))

    def _batch(self) -> SentFrames:
        members = [
            self._random.choice((self._request, self._command, self._reply))()
            for _ in range(self._random.choice((0, 1, 2, 9)))
        ]
        return SentFrames(
            b"[" + b",".join(member.data for member in members) + b"]",
            tuple(owed for member in members for owed in member.owed),
        )

    def _mutated(self) -> SentFrames:
        """Returns a request with changed bytes. No answer to it is required, because it may have
        become anything.
        """
        data = bytearray(self._request().data)
        for _ in range(self._random.choice((1, 1, 3, 10))):
            place = self._random.randrange(len(data))
            match self._random.randrange(4):
                case 0:
                    data[place] ^= 1 << self._random.randrange(8)
                case 1:
                    del data[place : place + self._random.randrange(1, 9)]
                case 2:
                    data[place:place] = bytes(data[: self._random.randrange(1, 20)])
                case _:
                    data[place:place] = self._random.choice(
                        (b"\x00", b"\xff\xfe", b'"', b"}", b"[", b"\\u", b"\\ud800", b"\xf0\x9f")
                    )
            data = data or bytearray(b"x")
        return SentFrames(bytes(data))

    def _garbage(self) -> SentFrames:
        return SentFrames(self._random.randbytes(self._random.choice((0, 1, 7, 200, 5000))))

    def _nested(self) -> SentFrames:
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"a":', b"}")))
        depth = self._random.choice((10, 120, 130, 900, 5000))
        inner = opening * depth + b"1" + closing * depth
        return SentFrames(
            b'{"id":"%s","method":"model/list","params":{"x":%s}}' % (self._id().encode(), inner)
        )

    def _reply(self) -> SentFrames:
        """Returns responses to requests that may or may not exist, to which no answer is
        required.
        """
        member = self._random.choice(("result", "error"))
        return SentFrames(
            json.dumps(
                {"id": self._random.choice((1, "q1", "nobody", 0, -5)), member: self._value(2)}
            ).encode()
        )

    def _odd_envelope(self) -> SentFrames:
        members = ("id", "method", "params", "result", "error", "jsonrpc")
        chosen = {
            name: self._value(2)
            for name in self._random.sample(members, self._random.randrange(len(members)))
        }
        return SentFrames(json.dumps(chosen).encode())

    def _params(self) -> Any:
        params = {
            self._random.choice(MEMBERS): self._value(3) for _ in range(self._random.randrange(5))
        }
        if self.chance(0.7):
            params["threadId"] = self._thread_id
        if self.chance(0.3):
            params["text"] = self._random.choice(WORDS)
        # A folder of its own choice would be a place to work in.
        return {
            name: value
            for name, value in params.items()
            if name != "cwd" or not isinstance(value, str)
        }

    def _value(self, depth: int) -> Any:
        match self._random.randrange(8 if depth else 5):
            case 0:
                return self._random.choice((None, True, False))
            case 1:
                return self._random.choice(NUMBERS)
            case 5:
                return [self._value(depth - 1) for _ in range(self._random.randrange(4))]
            case 6:
                return {
                    self._random.choice(MEMBERS): self._value(depth - 1)
                    for _ in range(self._random.randrange(4))
                }
            case 7:
                return [{"type": "text", "text": self._random.choice(WORDS)}]
            case _:
                return self._random.choice((*WORDS, self._thread_id))
