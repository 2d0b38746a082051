"""The first screen of `trimpoint chat` beside that of Codex's own terminal UI, in turn."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.daemons import RealCodex, real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench

_ROWS, _COLUMNS = 30, 100
_DEADLINE_S = 60.0
# What shows that a prompt can be typed; the last is the chat's own screen, with what it has read.
_CODEX, _CHAT, _READ = b"Ask Codex", b"Ask, / for commands", b"All stays readable"
# Codex asks the terminal for these before it draws: where the cursor is, what it is, its colours.
_ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;c",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}


def run(stage: Bench) -> Outcome:
    """Starts both by turns, each until one can type, and the chat until its own screen is there."""
    room = stage.room("paint")
    codex_ms: list[float] = []
    chat_ms: list[float] = []
    whole_ms: list[float] = []
    with real_codex() as codex, codex.daemon(room) as running:
        theirs = _command_of(codex, room)
        ours = [
            sys.executable, "-m", "trimpoint", "chat", "--new", "--socket", str(running.socket),
            "--state-dir", str(room / "state"),
        ]  # fmt: skip
        for _ in range(stage.sized(15, 2)):
            (painted,) = _times_ms(theirs, codex.environment, room, [_CODEX])
            first, whole = _times_ms(ours, dict(os.environ), room, [_CHAT, _READ])
            codex_ms.append(painted)
            chat_ms.append(first)
            whole_ms.append(whole)
    codex_first = Figure("Codex's terminal UI, to its prompt", "ms", codex_ms)
    chat_first = Figure("trimpoint chat, to its prompt", "ms", chat_ms)
    return Outcome(
        [
            Verdict(
                "first screen of the terminal UI",
                chat_first.median / codex_first.median,
                at_most(1.2, "times Codex's"),
                "wall clock from spawn until a prompt can be typed, medians, by turns",
            )
        ],
        [codex_first, chat_first, Figure("trimpoint chat, to its whole screen", "ms", whole_ms)],
    )


def _command_of(codex: RealCodex, folder: Path) -> list[str]:
    values = [
        *codex.overrides, f'projects."{folder}".trust_level="trusted"',
        "check_for_update_on_startup=false",
    ]  # fmt: skip
    return [str(codex.binary), *(word for value in values for word in ("-c", value))]


def _times_ms(
    command: Sequence[str], environment: dict[str, str], folder: Path, wanted: Sequence[bytes]
) -> list[float]:
    """Returns when each of the texts was on the screen, in milliseconds since the start."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
        env={**environment, "TERM": "xterm-256color"}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        seen = b""
        times: list[float] = []
        for text in wanted:
            seen = _until(ours, seen, text)
            times.append((time.perf_counter() - begun) * 1000)
        return times
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _until(fd: int, seen: bytes, wanted: bytes) -> bytes:
    give_up_at = time.perf_counter() + _DEADLINE_S
    while wanted not in _plain(seen):
        if not select.select([fd], [], [], max(0.0, give_up_at - time.perf_counter()))[0]:
            raise TimeoutError(f"{wanted!r} is not on the screen")
        data = os.read(fd, 65_536)
        seen += data
        for question, answer in _ANSWERS.items():
            if question in data:
                os.write(fd, answer)
    return seen


def _plain(output: bytes) -> bytes:
    """Returns the texts of an output without its escape sequences."""
    return re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]", b"", output)
