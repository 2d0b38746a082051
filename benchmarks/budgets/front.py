"""WebSocket compared with lines, HTTP compared with JSON-RPC, and the memory of a daemon that
serves HTTP.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from trimpoint.transport.wire import encode_text_frame

from benchmarks.budgets.relay import MANY, Relayed, TurnReceivers, open_thread
from benchmarks.daemons import daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.processes import rss_mib
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.wire import JsonRpcClient, connected

_UPGRADE = (
    b"GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_THREADS = b"GET /api/v1/threads HTTP/1.1\r\nHost: localhost\r\n\r\n"
_NO_MASK = b"\0\0\0\0"
_START_S = 30.0
# Read by `bare_app`.
_BODY_VARIABLE = "TRIMPOINT_BENCH_BODY"


def run_relay(stage: Bench) -> Outcome:
    """Streams deltas to 1 and to 32 WebSocket clients, and alternately to as many clients that read
    lines.
    """
    deltas, repeats = stage.sized(100_000, 20_000), stage.sized(5, 2)
    room = stage.room("websocket")
    rates: dict[tuple[str, int], list[float]] = {}
    with daemon(room, flooding_codex.launcher(room)) as running:
        open_thread(running)
        for _ in range(repeats):
            for clients in (1, MANY):
                for kind, connect, framed in (
                    ("lines", connected, _line),
                    ("WebSocket", _websocket, masked),
                ):
                    with TurnReceivers(running, clients, connect, framed) as audience:
                        turn = audience.receive_turn(deltas * (3 if clients == 1 else 1))
                    rates.setdefault((kind, clients), []).append(_rate(turn))
    figures = {
        key: Figure(f"{key[0]} to {key[1]}", "messages/s", taken) for key, taken in rates.items()
    }
    verdicts = [
        Verdict(
            f"WebSocket : lines, {clients} client{'s' if clients > 1 else ''}",
            figures["WebSocket", clients].median / figures["lines", clients].median,
            at_least(0.5, "×"),
            "wall clock, medians",
        )
        for clients in (1, MANY)
    ]
    return Outcome(verdicts, list(figures.values()))


def run_requests(stage: Bench) -> Outcome:
    """Sends `GET /api/v1/threads` on one connection, and alternately the same request by JSON-RPC
    and to a minimal Starlette app; then measures memory.
    """
    requests, repeats = stage.sized(3_000, 300), stage.sized(5, 2)
    by_http: list[float] = []
    by_lines: list[float] = []
    by_starlette: list[float] = []
    room = stage.room("http")
    with daemon(room, flooding_codex.launcher(room)) as running:
        open_thread(running)
        before_mib = rss_mib(running.pid)
        with socket.socket(socket.AF_UNIX) as sock, running.client() as lines:
            sock.connect(str(running.socket))
            answers = sock.makefile("rb")
            body = _get(sock, answers)
            after_mib = rss_mib(running.pid)
            with _bare_app(room, body) as (bare, bare_answers):
                for _ in range(repeats):
                    by_http.append(_timed(requests, lambda: _get(sock, answers)))
                    by_lines.append(
                        _timed(requests, lambda: lines.request("orchestration/snapshot"))
                    )
                    by_starlette.append(_timed(requests, lambda: _get(bare, bare_answers)))
    http, rpc, starlette = (
        Figure("GET /api/v1/threads", "1/s", by_http),
        Figure("orchestration/snapshot", "1/s", by_lines),
        Figure("the same bytes from a bare Starlette app", "1/s", by_starlette),
    )
    why = "resident set, before the first HTTP request and after it"
    return Outcome(
        [
            Verdict(
                "HTTP : lines",
                http.median / rpc.median,
                at_least(0.3, "×"),
                "requests a second, one after another, medians",
            ),
            Verdict(
                "HTTP : bare Starlette on uvicorn",
                http.median / starlette.median,
                at_least(0.8, "×"),
                "requests a second, one after another, medians; it has the body ready",
            ),
            Verdict("memory of HTTP and WebSocket", after_mib - before_mib, at_most(6, "MiB"), why),
        ],
        [
            http,
            rpc,
            starlette,
            Figure("memory without HTTP", "MiB", [before_mib]),
            Figure("memory with it", "MiB", [after_mib]),
        ],
    )


def _timed(requests: int, ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(requests):
        ask()
    return requests / (time.perf_counter() - began)


@contextmanager
def _bare_app(room: Path, body: bytes) -> Generator[tuple[socket.socket, BinaryIO]]:
    """Yields a connection to `bare_app`, which sends `body`, on uvicorn in a process of its own."""
    place, body_file = room / "bare.sock", room / "body.json"
    body_file.write_bytes(body)
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "benchmarks.programs.bare_app:app",
        "--uds",
        str(place),
    ]
    process = subprocess.Popen(
        [
            *command,
            "--http",
            "h11",
            "--timeout-keep-alive",
            "3600",
            "--log-level",
            "error",
            "--no-access-log",
        ],
        env={**os.environ, _BODY_VARIABLE: str(body_file)},
        cwd=Path(__file__).parents[2],
    )
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            _connect_when_ready(sock, place)
            yield sock, sock.makefile("rb")
    finally:
        process.terminate()
        process.wait()


def _connect_when_ready(sock: socket.socket, place: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            sock.connect(str(place))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _get(sock: socket.socket, answers: BinaryIO) -> bytes:
    """Sends the request and returns the body of the response."""
    sock.sendall(_THREADS)
    size = 0
    while (line := answers.readline()) != b"\r\n":
        name, _, value = line.partition(b": ")
        size = int(value) if name.lower() == b"content-length" else size
    body = answers.read(size)
    json.loads(body)
    return body


def _rate(turn: Relayed) -> float:
    return turn.deliveries / turn.wall_s


def _line(message: bytes) -> bytes:
    return message + b"\n"


def masked(message: bytes) -> bytes:
    """Returns a client's text frame. Its mask is zero, which costs nothing here, but the daemon
    unmasks it all the same.
    """
    frame = encode_text_frame(message)
    head = frame[: len(frame) - len(message)]
    return bytes([head[0], head[1] | 0x80]) + head[2:] + _NO_MASK + message


class _Frames:
    """Reads a server's text frames as lines."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """Returns the next message with a line feed; empty at the end."""
        head = self._stream.read(2)
        if len(head) < 2:
            return b""
        size = head[1]
        if size > 125:
            size = int.from_bytes(self._stream.read(2 if size == 126 else 8), "big")
        return self._stream.read(size) + b"\n"


def _websocket(path: Path) -> tuple[JsonRpcClient, socket.socket]:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(path))
    stream = sock.makefile("rb")
    sock.sendall(_UPGRADE)
    while stream.readline() != b"\r\n":
        pass
    client = JsonRpcClient(
        cast("BinaryIO", _Frames(stream)), lambda line: sock.sendall(masked(line[:-1]))
    )
    client.initialize()
    return client, sock
