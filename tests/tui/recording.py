"""Records what Codex's own terminal UI and its server say to each other, so that the same keys can
be compared on two servers.
"""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import anyio
import msgspec
from anyio.abc import ByteStream, SocketStream
from trimpoint_protocol.client.unix import connect_unix
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

READ_BYTES = 65_536
ABSENT = "absent"
# What is another in each run, whoever the server is.
_CHANGING = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"sha256:[0-9a-f]{64}"), "HASH"),
    (re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(T[0-9]{2}-[0-9]{2}-[0-9]{2})?"), "DAY"),
    (re.compile(r"\b(msg|call|rs|cmp)_[0-9]+\b"), "ITEM"),
)
_TIME = re.compile(r"(At|Ms)$")

Speaker = Literal["ui", "server"]


class Said(NamedTuple):
    """One message. `kind` is request, notification, answer or error; `body` is what is in it."""

    speaker: Speaker
    kind: str
    method: str
    body: Any

    @property
    def topic(self) -> str:
        """By what messages of two runs are put side by side."""
        return f"{self.speaker} {self.kind} {self.method}"


class _Tap:
    """Reads the messages out of one direction of a connection."""

    def __init__(self, reader: Side) -> None:
        self._frames = Protocol(reader, state=State.OPEN, max_size=None)
        self._head: bytes | None = b""
        self._text = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        if self._head is not None:
            self._head, end, data = (self._head + data).partition(b"\r\n\r\n")
            if not end:
                return
            self._head = None
        self._frames.receive_data(data)
        self._frames.data_to_send()
        for frame in self._frames.events_received():
            if isinstance(frame, Frame) and frame.opcode in (Opcode.TEXT, Opcode.CONT):
                self._text += frame.data
                if frame.fin:
                    yield msgspec.json.decode(self._text)
                    self._text = b""


class Recording:
    """All that was said, in order, over all connections."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self._asked: dict[tuple[Speaker, int, str], str] = {}
        self._connections = 0
        self._running: set[str] = set()
        self._changed = anyio.Event()

    async def until_at_rest(self) -> None:
        """Returns when the server has told the end of each turn whose beginning it has told. What
        is typed before becomes a part of that turn.
        """
        while self._running:
            await self._changed.wait()

    def answers(self, method: str) -> int:
        """Returns how often the server has answered a method."""
        return sum(one.topic == f"server answer {method}" for one in self.said)

    async def until_answered(self, method: str, times: int) -> None:
        """Returns when the server has answered a method that often."""
        while self.answers(method) < times:
            await self._changed.wait()

    async def relay(self, ui: ByteStream, server: ByteStream) -> None:
        """Passes everything on both ways until either side ends."""
        self._connections += 1
        number = self._connections
        async with ui, server, anyio.create_task_group() as tasks:

            async def pump(
                source: ByteStream, sink: ByteStream, speaker: Speaker, tap: _Tap
            ) -> None:
                try:
                    while True:
                        data = await source.receive(READ_BYTES)
                        for message in tap.feed(data):
                            self._note(number, speaker, message)
                        await sink.send(data)
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await source.aclose()
                    await sink.aclose()

            tasks.start_soon(pump, ui, server, "ui", _Tap(Side.SERVER))
            tasks.start_soon(pump, server, ui, "server", _Tap(Side.CLIENT))

    def _note(self, connection: int, speaker: Speaker, message: dict[str, Any]) -> None:
        method, number = message.get("method"), str(message.get("id"))
        if method is None:
            asker: Speaker = "server" if speaker == "ui" else "ui"
            about = self._asked.pop((asker, connection, number), "nothing")
            kind = "error" if "error" in message else "answer"
            body = message.get("error", message.get("result"))
            self._add(Said(speaker, kind, about, body))
            return
        kind = "request" if "id" in message else "notification"
        if kind == "request":
            self._asked[speaker, connection, number] = method
        if method == "turn/started":
            self._running.add(message["params"]["turn"]["id"])
        elif method == "turn/completed":
            self._running.discard(message["params"]["turn"]["id"])
        self._add(Said(speaker, kind, method, message.get("params")))

    def _add(self, said: Said) -> None:
        self.said.append(said)
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def recorded(place: Path, behind: Path) -> AsyncIterator[Recording]:
    """Listens at `place` and pass everything on to the server at `behind`."""
    recording = Recording()

    async def serve(ui: SocketStream) -> None:
        await recording.relay(ui, await connect_unix(behind))

    async with (
        await anyio.create_unix_listener(place) as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        yield recording
        tasks.cancel_scope.cancel()


class Digest:
    """What was said by topic, and each value with the place where it stands; ids, times and the
    names of `places` are left aside. Two of them can be compared whatever the order was, which is
    another in each run.
    """

    def __init__(self, said: Iterable[Said], places: dict[str, str]) -> None:
        self.counts: dict[str, int] = defaultdict(int)
        self.values: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._places = places
        for one in said:
            self.counts[one.topic] += 1
            self.values[one.topic].update(self._leaves(one.body, ""))

    def differences(self, other: "Digest") -> list[str]:
        """Returns what is in only one of two, a line each."""
        found = []
        for topic in sorted(self.counts.keys() | other.counts.keys()):
            if (ours := self.counts[topic]) != (theirs := other.counts[topic]):
                found.append(f"{topic}: {ours} and {theirs}")
            left, right = self.values[topic], other.values[topic]
            found += [f"{topic} {path}: only first {value}" for path, value in sorted(left - right)]
            found += [
                f"{topic} {path}: only second {value}" for path, value in sorted(right - left)
            ]
        return found

    def _leaves(self, value: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict) and value:
            for name, member in value.items():
                yield from self._leaves(member, f"{path}.{self._shown(name)}")
        elif isinstance(value, list) and value:
            for member in value:
                yield from self._leaves(member, f"{path}[]")
        elif isinstance(value, str):
            yield path, "PID" if path.endswith(".processId") else repr(self._shown(value))
        else:
            is_time = isinstance(value, int | float) and _TIME.search(path)
            yield path, "TIME" if is_time and not isinstance(value, bool) else repr(value)

    def _shown(self, text: str) -> str:
        for place, name in self._places.items():
            text = text.replace(place, name)
        for pattern, name in _CHANGING:
            text = pattern.sub(name, text)
        return text
