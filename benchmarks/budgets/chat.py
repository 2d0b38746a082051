"""The terminal UI on a thread of 100,000 turns: first paint, key presses, memory."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from trimpoint.threads.ids import new_uuid7

from benchmarks.daemons import daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.processes import rss_mib
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow

LONG, LONG_QUICK = 100_000, 5_000
ROWS, COLUMNS = 40, 120
_PAINTED = b"Context:"
_PAGES_BACK = 60
_DEADLINE_S = 120.0
_QUIET_S = 0.3
_PAGE_UP, _BACKSPACE = b"\x1b[5~", b"\x7f"


class Shown(NamedTuple):
    """A running chat; `painted_s` is the time from its start to the first screen, in seconds."""

    pid: int
    fd: int
    painted_s: float


def run(stage: Bench) -> Outcome:
    """Opens the thread repeatedly; then types, scrolls back through pages, and types again."""
    room = stage.room("chat")
    thread_id = new_uuid7()
    turns = stage.sized(LONG, LONG_QUICK)
    anyio.run(grow, room / "state", [Grown(thread_id, str(room), None, turns)])
    painted_ms: list[float] = []
    keys_ms: list[float] = []
    weight_mib: list[float] = []
    with daemon(room, flooding_codex.launcher(room)) as running:
        for _ in range(stage.sized(7, 2)):
            with _chat(running.socket, room, thread_id) as shown:
                painted_ms.append(shown.painted_s * 1000)
                keys_ms += _key_times_ms(shown.fd, stage.sized(30, 5))
                _scroll_back(shown.fd, _PAGES_BACK)
                keys_ms += _key_times_ms(shown.fd, stage.sized(30, 5))
                weight_mib.append(rss_mib(shown.pid))
    return _outcome(painted_ms, keys_ms, weight_mib)


def _outcome(painted_ms: list[float], keys_ms: list[float], weight_mib: list[float]) -> Outcome:
    painted = Figure("trimpoint chat, to the meter on its screen", "ms", painted_ms)
    key = Figure("a key, to its letter on the screen", "ms", keys_ms)
    weight = Figure("trimpoint chat, memory", "MiB", weight_mib)
    return Outcome(
        [
            Verdict(
                "the terminal UI is there",
                painted.median,
                at_most(600, "ms"),
                "wall clock from spawn to the meter of a thread of 100,000 turns, median",
            ),
            Verdict(
                "a key in the terminal UI", key.median, at_most(50, "ms"),
                "on a thread of 100,000 turns, median",
            ),
            Verdict(
                "memory of the terminal UI", weight.median, at_most(60, "MiB"),
                "resident set after 60 pages back in a thread of 100,000 turns, median",
            ),
        ],
        [painted, key, weight],
    )  # fmt: skip


@contextmanager
def _chat(socket: Path, room: Path, thread_id: str) -> Generator[Shown]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "trimpoint", "chat", "--thread", thread_id]
    places = ["--socket", str(socket), "--state-dir", str(room / "state")]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, *places], stdin=theirs, stdout=theirs, stderr=theirs, cwd=room,
        env={**os.environ, "TERM": "xterm-256color"}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        _until(ours, _PAINTED)
        yield Shown(process.pid, ours, time.perf_counter() - begun)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _key_times_ms(fd: int, repeats: int) -> list[float]:
    times: list[float] = []
    for _ in range(repeats):
        _drain(fd)
        begun = time.perf_counter()
        os.write(fd, b"q")
        _until(fd, b"q")
        times.append((time.perf_counter() - begun) * 1000)
        os.write(fd, _BACKSPACE)
    return times


def _scroll_back(fd: int, pages: int) -> None:
    for _ in range(pages):
        os.write(fd, _PAGE_UP)
        _drain(fd)


def _drain(fd: int) -> None:
    """Reads until no output has arrived for a moment."""
    while select.select([fd], [], [], _QUIET_S)[0]:
        os.read(fd, 65_536)


def _until(fd: int, wanted: bytes) -> None:
    seen = b""
    give_up_at = time.perf_counter() + _DEADLINE_S
    while wanted not in seen:
        if not select.select([fd], [], [], max(0.0, give_up_at - time.perf_counter()))[0]:
            raise TimeoutError(f"{wanted!r} is not on the screen")
        seen += os.read(fd, 65_536)
