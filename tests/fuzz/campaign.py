"""Random input for a live daemon with the real Codex, and the properties that must hold.

Each well-formed request gets exactly one answer; no answer is a defect's (`internal`, a traceback);
another client is served in between; at the end the same process is running, its log has no error,
and every journal is intact.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
from trimpoint.cli.exits import sole_error
from trimpoint.journal.port import Damage
from trimpoint.journal.storage.inspection import inspect

from tests.e2e.conftest import Harness
from tests.e2e.daemon_process import daemon_process
from tests.e2e.wire import DEADLINE_S, JsonRpcClient, connect_socket
from tests.fuzz.nonsense import Nonsense

FRAMES_PER_CLIENT = 40
_HELLO = {
    "id": "hello",
    "method": "initialize",
    "params": {"clientInfo": {"name": "fuzz", "version": "1"}},
}
_LAST = {"id": "last", "method": "sidecar/status"}


class Failed(AssertionError):
    """Raised when a property did not hold; `seed` repeats the failure."""

    def __init__(self, seed: int, problem: str) -> None:
        super().__init__(f"seed {seed}: {problem}")


async def run_campaign(
    harness: Harness, first_seed: int, *, clients: int | None = None, seconds: float | None = None
) -> int:
    """Sends the input of several seeds, or as many as fit into the time, and returns their number.

    :raises Failed: when a property did not hold.
    """
    try:
        return await _campaign(harness, first_seed, clients, seconds)
    except BaseExceptionGroup as group:
        raise sole_error(group) from None


async def _campaign(
    harness: Harness, first_seed: int, clients: int | None, seconds: float | None
) -> int:
    async with daemon_process(harness) as process, connect_socket(harness.socket) as witness:
        await witness.initialize("witness")
        started = await witness.result(
            "thread/start", cwd=str(harness.worktree), approvalPolicy="never", sandbox="read-only"
        )
        thread_id = str(started["thread"]["id"])
        ends_at = anyio.current_time() + (seconds if seconds is not None else float("inf"))
        seed = first_seed
        while anyio.current_time() < ends_at and (clients is None or seed < first_seed + clients):
            await _one_client(harness.socket, Nonsense(seed, thread_id), seed)
            await _check_witness(witness, seed)
            seed += 1
        if process.returncode is not None:
            raise Failed(seed, f"the daemon ended with {process.returncode}")
    _check_traces(harness, seed)
    return seed - first_seed


async def _check_witness(witness: JsonRpcClient, seed: int) -> None:
    for method in ("sidecar/status", "model/list"):
        answer = await witness.ask(method)
        if "error" in answer:
            raise Failed(seed, f"another client was refused {method}: {answer['error']}")
    witness.received.clear()


class FrameReader:
    """Reads the bytes that a connection receives, while they arrive."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.text = bytearray()
        self.answers: Counter[Any] = Counter()
        self.is_over = False
        self._reader = reader
        self._read_bytes = 0
        self._changed = anyio.Event()

    async def listen(self) -> None:
        """Reads until the other side has closed the connection."""
        with suppress(ConnectionError):
            while data := await self._reader.read(2**18):
                self.text += data
                self._count()
                self._announce()
        self.is_over = True
        self._announce()

    async def until(self, holds: Callable[[], bool]) -> bool:
        """Returns whether the condition became true in time and before the end."""
        with anyio.move_on_after(DEADLINE_S):
            while not holds() and not self.is_over:
                await self._changed.wait()
        return holds()

    def _count(self) -> None:
        end = self.text.rfind(b"\n") + 1
        for line in bytes(self.text[self._read_bytes : end]).splitlines():
            decoded: Any = (
                json.loads(line)
                if line.startswith((b"{", b"[")) and line.endswith((b"}", b"]"))
                else []
            )
            for message in decoded if isinstance(decoded, list) else (decoded,):
                if "method" not in message:
                    self.answers[message.get("id")] += 1
        self._read_bytes = end

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


async def _one_client(place: Path, nonsense: Nonsense, seed: int) -> None:
    """Runs one connection from its start to its end."""
    reader, writer = await asyncio.open_unix_connection(place, limit=2**26)
    ear = FrameReader(reader)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ear.listen)
            owed = await _speak(writer, nonsense)
            await _check_answers(seed, owed, ear)
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise sole_error(group) from None
    finally:
        writer.close()


async def _speak(writer: asyncio.StreamWriter, nonsense: Nonsense) -> list[str] | None:
    """Sends frames, and returns the ids that must be answered, or None if frames may be broken."""
    in_frames = nonsense.chance(0.2)
    owed: list[str] = []
    frames = [json.dumps(_HELLO).encode()] if nonsense.chance(0.9) else []
    for _ in range(FRAMES_PER_CLIENT):
        said = nonsense.something()
        owed += said.owed
        frames.append(said.data)
    frames.append(json.dumps(_LAST).encode())
    stream = b"".join(nonsense.framed(frame) if in_frames else frame + b"\n" for frame in frames)
    with suppress(ConnectionError):  # a broken frame ends it before all is said
        for piece in nonsense.cut(stream):
            writer.write(piece)
            await writer.drain()
            await anyio.lowlevel.checkpoint()
        if in_frames:
            writer.write_eof()
    return None if in_frames else owed


async def _check_answers(seed: int, owed: list[str] | None, ear: FrameReader) -> None:
    """Checks that each id was answered once. The daemon itself answers the last request, perhaps
    before Codex has answered others.
    """
    if owed is None:
        await ear.until(lambda: ear.is_over)
        if not ear.is_over:
            raise Failed(
                seed,
                f"its input had ended, and the connection has not; heard {bytes(ear.text[-300:])!r}",
            )
    elif not await ear.until(
        lambda: not {*owed, "last"} - ear.answers.keys()
    ) and not _lost_its_frames(ear):
        missing = {*owed, "last"} - ear.answers.keys()
        raise Failed(seed, f"no answer to {sorted(missing)}; heard {bytes(ear.text[-300:])!r}")
    if b"Traceback" in ear.text or b'"reason":"internal"' in ear.text:
        raise Failed(seed, f"a defect: {bytes(ear.text)!r}")
    if wrong := {
        request_id: ear.answers[request_id]
        for request_id in owed or ()
        if ear.answers[request_id] > 1
    }:
        raise Failed(seed, f"answered more than once: {wrong}")


def _lost_its_frames(ear: FrameReader) -> bool:
    """Returns whether the connection ended because its first line could be the broken beginning of
    a frame.
    """
    return ear.is_over and b'"reason":"parse_error"' in ear.text


def _check_traces(harness: Harness, seed: int) -> None:
    lines = [
        msgspec.json.decode(line)
        for line in (harness.home / "daemon.log").read_bytes().splitlines()
    ]
    defects = [line for line in lines if line["level"] == "error"]
    if defects:
        raise Failed(seed, f"in the log: {defects[0]}")
    damaged = {
        path.name: inspect(path).report.damage
        for path in (harness.state_dir / "threads").glob("*.journal")
    }
    if wrong := {name: damage for name, damage in damaged.items() if damage is not Damage.NONE}:
        raise Failed(seed, f"journals: {wrong}")
