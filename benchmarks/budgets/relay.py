"""The relay of a stream: one client compared with the decoding speed of the official SDK, and many
clients compared with one.

The daemon is measured by wall clock, because everything else is faster: the stream comes prepared
from a child that only writes, and the clients, all in this process, only count bytes.
"""

import json
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

from benchmarks.daemons import Daemon, daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_least
from benchmarks.processes import cpu_s
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.wire import JsonRpcClient, connected

RECEIVE_BYTES = 1024 * 1024
MANY = 32
_END = b'"turn/completed"'
# More than the line that ends a turn.
_TAIL_BYTES = 1024


class Relayed(NamedTuple):
    """The result of one turn. `cpu_s` is the daemon's processor time in seconds."""

    deliveries: int
    wall_s: float
    cpu_s: float


def run_one(stage: Bench) -> Outcome:
    """Compares one client with the SDK's decoder."""
    deltas, repeats = stage.sized(300_000, 60_000), stage.sized(7, 3)
    relayed: list[Relayed] = []
    decoded: list[float] = []
    room = stage.room("relay")
    with daemon(room, flooding_codex.launcher(room)) as running:
        open_thread(running)
        with TurnReceivers(running, 1) as audience:
            audience.receive_turn(deltas)  # the first one warms up
            for _ in range(repeats):
                relayed.append(audience.receive_turn(deltas))
                decoded.append(sdk_decodes(deltas // 5))
    by_wall, by_cpu = _by_wall("relay to 1 client", relayed), _by_cpu("the same", relayed)
    sdk = Figure("SDK decodes the same stream", "messages/s", decoded)
    bar = at_least(2, "×")
    verdict = Verdict(
        "relay to 1 client : SDK decode", by_wall.median / sdk.median, bar, "wall clock, medians"
    )
    return Outcome([verdict], [by_wall, by_cpu, sdk])


def run_many(stage: Bench) -> Outcome:
    """Compares many clients with one."""
    deltas, repeats = stage.sized(100_000, 20_000), stage.sized(5, 2)
    one: list[Relayed] = []
    many: list[Relayed] = []
    room = stage.room("relay")
    with daemon(room, flooding_codex.launcher(room)) as running:
        open_thread(running)
        for _ in range(repeats):
            with TurnReceivers(running, 1) as audience:
                one.append(audience.receive_turn(deltas * 3))
            with TurnReceivers(running, MANY) as audience:
                many.append(audience.receive_turn(deltas))
    to_one, to_many = (
        _by_wall("deliveries to 1 client", one),
        _by_wall(f"deliveries to {MANY}", many),
    )
    verdict = Verdict(
        f"deliveries to {MANY} clients : to 1",
        to_many.median / to_one.median,
        at_least(3, "×"),
        "wall clock, medians",
    )
    return Outcome([verdict], [to_one, _by_cpu("to 1", one), to_many, _by_cpu(f"to {MANY}", many)])


def _by_wall(what: str, turns: list[Relayed]) -> Figure:
    return Figure(what, "messages/s", [turn.deliveries / turn.wall_s for turn in turns])


def _by_cpu(what: str, turns: list[Relayed]) -> Figure:
    return Figure(
        f"{what}, per CPU second of the daemon",
        "messages/s",
        [turn.deliveries / turn.cpu_s for turn in turns],
    )


def sdk_decodes(lines: int) -> float:
    """Returns how many messages per second the SDK decodes from lines, in the way its reader
    does.
    """
    from openai_codex.client import CodexClient  # a second, which the tests of reports need not pay

    client = CodexClient()
    line = flooding_codex.delta_line().decode()
    began = time.perf_counter()
    for _ in range(lines):
        message = json.loads(line)
        decode = client._coerce_notification  # pyright: ignore[reportPrivateUsage]
        decode(message["method"], message.get("params"))
    return lines / (time.perf_counter() - began)


def open_thread(running: Daemon) -> None:
    """Starts the thread and clears it once, so that the thread id in each line must be replaced, as
    after any trim.
    """
    with running.client() as client:
        client.request("thread/start", cwd="/tmp")
        client.turn(flooding_codex.THREAD_ID, "0")
        outcome = client.request(
            "commands/execute", threadId=flooding_codex.THREAD_ID, text="/clear"
        )
        if outcome["status"] != "completed":
            raise RuntimeError(f"the thread could not be cleared: {outcome}")


class TurnReceivers:
    """Clients of the thread, as a context manager; `connect` and `framed` determine their
    protocol.
    """

    def __init__(
        self,
        running: Daemon,
        clients: int,
        connect: Callable[[Path], tuple[JsonRpcClient, socket.socket]] = connected,
        framed: Callable[[bytes], bytes] = lambda message: message + b"\n",
    ) -> None:
        self._daemon = running
        self._clients = clients
        self._connect = connect
        self._framed = framed
        self._sockets: list[socket.socket] = []
        self._closing = ExitStack()

    def __enter__(self) -> "TurnReceivers":
        for _ in range(self._clients):
            wire, sock = self._connect(self._daemon.socket)
            self._closing.enter_context(sock)
            self._sockets.append(sock)
            wire.request("thread/resume", threadId=flooding_codex.THREAD_ID)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def receive_turn(self, deltas: int) -> Relayed:
        """Runs a turn of `deltas` deltas and waits until every client has received its end."""
        params = {
            "threadId": flooding_codex.THREAD_ID,
            "input": [{"type": "text", "text": str(deltas)}],
        }
        used_s, began = cpu_s(self._daemon.pid), time.perf_counter()
        request = json.dumps({"id": "turn", "method": "turn/start", "params": params}).encode()
        self._sockets[0].sendall(self._framed(request))
        received_bytes = receive_until_end(self._sockets)
        wall_s = time.perf_counter() - began
        if received_bytes < deltas * len(flooding_codex.delta_line()) * len(self._sockets):
            raise RuntimeError("the stream did not arrive whole")
        return Relayed(
            deltas * len(self._sockets), wall_s, max(cpu_s(self._daemon.pid) - used_s, 0.01)
        )


def receive_until_end(sockets: list[socket.socket]) -> int:
    """Reads all sockets until each has delivered the end of a turn; returns the number of bytes."""
    received_bytes = 0
    buffer = bytearray(RECEIVE_BYTES)
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ, bytearray())
        while selector.get_map():
            for key, _ in selector.select():
                size = _receive(key, buffer)
                received_bytes += size
                if _END in key.data:
                    selector.unregister(key.fileobj)
    return received_bytes


def _receive(key: selectors.SelectorKey, buffer: bytearray) -> int:
    """Reads once from a socket and keeps the last bytes in the key's data; returns the number of
    bytes.
    """
    sock, tail = cast("socket.socket", key.fileobj), cast("bytearray", key.data)
    size = sock.recv_into(buffer)
    if size == 0:
        raise EOFError("the daemon closed a connection")
    tail += buffer[max(0, size - _TAIL_BYTES) : size]
    del tail[:-_TAIL_BYTES]
    return size
