"""One `codex app-server` child process, from its start to its end.

Always true: a child never outlives its owner. It leads its own session, and ends at the end of its
input, at its parent's death (Linux), or by `CodexChild.stop`, which closes stdin, sends SIGTERM to
the group, then SIGKILL, with a bounded wait after each step, shielded from cancellation. The rest
of its process group is killed with it. Its stdout and stderr are read until the end, because a full
pipe would keep it from ending (measured: 0.163 blocks on an unread stderr, even before its first
response).

Not ended: commands that Codex starts have their own sessions, and their background processes
outlive Codex (measured: 0.163, on end of input, SIGTERM and SIGKILL alike). That is the same
without trimpoint.
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import IO, Protocol, cast

import anyio
import msgspec
import structlog

from trimpoint.codex.appserver.launch import LaunchProfile, child_environment, launch_command
from trimpoint.codex.appserver.orphans import CHILD_MARK, forget_child, record_child
from trimpoint.processes import RUNNING_CHILDREN
from trimpoint.streams.ends import PipeEnd
from trimpoint.streams.reader import StreamReader
from trimpoint.streams.writer import StreamWriter
from trimpoint.system import SYSTEM

_log = structlog.get_logger("trimpoint.codex.appserver.process")

_STDERR_TAIL_BYTES = 16 * 1024
_ROOM_BELOW_BYTES = 1024 * 1024
# The wait after the exit for a pipe that another process still holds open, and the wait after the
# end of a pipe for the exit.
_SETTLE_S = 0.5
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class StopGrace(msgspec.Struct, frozen=True):
    """The seconds that `CodexChild.stop` waits after each of its steps."""

    after_eof_s: float = 2.0
    after_term_s: float = 2.0
    after_kill_s: float = 5.0


class ChildExit(msgspec.Struct, frozen=True):
    """How a child ended: its exit status or its signal. Both are None if it did not end after
    SIGKILL.
    """

    status: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"was ended by {_signal_name(self.signal)}"
        return (
            "did not end after SIGKILL"
            if self.status is None
            else f"exited with status {self.status}"
        )


class ChildNotStarted(Exception):
    """Raised when the operating system cannot run the binary."""

    def __init__(self, codex: Path, reason: str) -> None:
        super().__init__(codex, reason)
        self.codex = codex
        self.reason = reason

    @property
    def hint(self) -> str:
        """Returns advice for a person."""
        return "Name another with --codex; `trimpoint daemon status` shows which one is used."

    def __str__(self) -> str:
        return f"cannot start {self.codex}: {self.reason}"


class ChildSink(Protocol):
    """Receives the output of a child. Its methods are called on the event loop's thread, and must
    not raise.
    """

    def on_chunk(self, data: bytes) -> None:
        """Handles bytes of the child's stdout, in order and divided anywhere."""
        ...

    def on_exit(self, exit_: ChildExit) -> None:
        """Handles the end of the child; called once, after the last bytes."""
        ...


class CodexChild:
    """A running child. `spawn_codex` creates it and ends it."""

    def __init__(
        self, profile: LaunchProfile, grace: StopGrace, mark: str, popen: subprocess.Popen[bytes]
    ) -> None:
        pipes = (popen.stdin, popen.stdout, popen.stderr)
        self._pipes = tuple(PipeEnd(cast("IO[bytes]", pipe)) for pipe in pipes)
        self._stdin_end, stdout, stderr = self._pipes
        self.profile = profile
        self.pid = popen.pid
        self.mark = mark
        self._grace = grace
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._sink: ChildSink | None = None
        self._exit: ChildExit | None = None
        self._closed = anyio.Event()
        self._stderr_tail = b""
        self._stopping = False
        self._stdin = StreamWriter(self._stdin_end, on_end=self._on_stdin_lost)
        self._stdout = StreamReader(stdout, self._on_stdout, self._on_stdout_end)
        self._stderr = StreamReader(stderr, self._on_stderr, self._on_stderr_end)
        self._stderr.resume()
        RUNNING_CHILDREN.add(self.pid)
        self._watch_exit()

    @property
    def accepts_input(self) -> bool:
        """Returns whether the child's stdin is open; otherwise `write` has no effect."""
        return self._stdin.is_open

    @property
    def unsent_bytes(self) -> int:
        """Returns how many bytes the child has not read yet."""
        return self._stdin.queued_bytes

    @property
    def has_room(self) -> bool:
        """Returns whether less than 1 MiB is unsent."""
        return self._stdin.queued_bytes < _ROOM_BELOW_BYTES

    @property
    def exit(self) -> ChildExit | None:
        """Returns how the child ended, or None while it is running."""
        return self._exit if self._closed.is_set() else None

    def attach(self, sink: ChildSink) -> None:
        """Starts reading the child's stdout into `sink`. Call it once; until then, the child may
        block on a full stdout.
        """
        assert self._sink is None, "a child has one reader"
        self._sink = sink
        if self._exit is not None and self._closed.is_set():
            sink.on_exit(self._exit)
        else:
            self._stdout.resume()

    def pause_reading(self) -> None:
        """Stops reading the child's stdout until `resume_reading`."""
        self._stdout.pause()

    def resume_reading(self) -> None:
        """Reads the child's stdout again."""
        self._stdout.resume()

    def write(self, data: bytes) -> None:
        """Queues bytes for the child's stdin, without waiting. The caller has to bound
        `unsent_bytes`.
        """
        self._stdin.append(data)

    async def room(self) -> None:
        """Waits until `has_room` is true, or no more bytes can be sent."""
        await self._stdin.room(_ROOM_BELOW_BYTES)

    def stderr_tail(self) -> str:
        """Returns the last 16 KiB of the child's stderr as text, without colours, for error
        reports.
        """
        return _ANSI.sub("", self._stderr_tail.decode(errors="replace"))

    async def closed(self) -> ChildExit:
        """Waits until the child has ended and its whole output was passed to the sink."""
        # If it has ended, this does not await at all, because `stop` calls it outside of its
        # shield.
        if self._exit is None or not self._closed.is_set():
            await self._closed.wait()
        assert self._exit is not None
        return self._exit

    def kill(self) -> None:
        """Sends SIGKILL to the child's process group."""
        self._signal_group(signal.SIGKILL)

    async def stop(self) -> ChildExit:
        """Ends the child, at first gently, and returns how it ended. Shielded from cancellation,
        and bounded by the grace periods. May be called again.
        """
        self._stopping = True
        with anyio.CancelScope(shield=True):
            if self._sink is None:
                self.attach(_Discard())
            await self._end()
        return await self.closed()

    async def _end(self) -> None:
        self._stdin.finish()
        if await self._closes_within(self._grace.after_eof_s):
            return
        self._signal_group(signal.SIGTERM)
        if await self._closes_within(self._grace.after_term_s):
            return
        self.kill()
        if not await self._closes_within(self._grace.after_kill_s):
            self._give_up()

    async def _closes_within(self, grace_s: float) -> bool:
        with anyio.move_on_after(grace_s):
            await self._closed.wait()
        return self._closed.is_set()

    def _give_up(self) -> None:
        _log.error("codex_child_survived_sigkill", pid=self.pid)
        self._exit = ChildExit()
        self._finish()

    def _signal_group(self, number: int) -> None:
        # Not after the exit was collected: from then on another process may have the same pid.
        if self._exit is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _watch_exit(self) -> None:
        with contextlib.suppress(OSError):
            if (pidfd := SYSTEM.open_pidfd(self.pid)) is not None:
                self._loop.add_reader(pidfd, self._on_pidfd, pidfd)
                return
        threading.Thread(
            target=self._wait_in_thread, name=f"codex-{self.pid}-exit", daemon=True
        ).start()

    def _on_pidfd(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        os.close(pidfd)
        self._on_exit()

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_exit)

    def _on_exit(self) -> None:
        # While members of the group outlive the leader, the group's number is not reused, so this
        # kills only members.
        self._signal_group(signal.SIGKILL)
        RUNNING_CHILDREN.discard(self.pid)  # before another process can have its pid
        code = self._popen.wait()
        self._exit = ChildExit(signal=-code) if code < 0 else ChildExit(status=code)
        self._stdin.close()
        self._stdin_end.close()
        self._loop.call_later(_SETTLE_S, self._finish_anyway)
        self._finish_if_drained()

    def _on_stdout(self, data: bytes) -> None:
        assert self._sink is not None
        self._sink.on_chunk(data)

    def _on_stderr(self, data: bytes) -> None:
        self._stderr_tail = (self._stderr_tail + data[-_STDERR_TAIL_BYTES:])[-_STDERR_TAIL_BYTES:]

    def _on_stdout_end(self, error: OSError | None) -> None:
        del error  # an error is treated like the end
        self._finish_if_drained()
        self._kill_soon()

    def _on_stderr_end(self, error: OSError | None) -> None:
        del error
        self._finish_if_drained()

    def _on_stdin_lost(self, reason: str) -> None:
        del reason  # there is only one reason: the child has stopped reading
        self._stdin_end.close()
        self._kill_soon()

    def _kill_soon(self) -> None:
        # The child usually ends by itself now, and its own exit status is useful. If it does not
        # end, it is killed.
        self._loop.call_later(_SETTLE_S, self._kill_unless_stopping)

    def _kill_unless_stopping(self) -> None:
        if not self._stopping:
            self.kill()

    def _finish_if_drained(self) -> None:
        if self._exit is not None and self._stdout.is_ended and self._stderr.is_ended:
            self._finish()

    def _finish_anyway(self) -> None:
        # A daemon that had no time to read yet must still read the last output.
        if self._sink is not None:
            self._stdout.drain()
        self._stderr.drain()
        self._finish()

    def _finish(self) -> None:
        if self._closed.is_set() or self._exit is None:
            return
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()
        for pipe in self._pipes:
            pipe.close()
        self._closed.set()
        if self._sink is not None:
            self._sink.on_exit(self._exit)


def _signal_name(number: int) -> str:
    # Real-time signals have no name.
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


class _Discard:
    """Reads and drops the output of a child that is stopped before it has a sink, so that it can
    end.
    """

    def on_chunk(self, data: bytes) -> None:
        del data

    def on_exit(self, exit_: ChildExit) -> None:
        del exit_


@contextlib.asynccontextmanager
async def spawn_codex(
    profile: LaunchProfile, *, state_dir: Path | None = None, grace: StopGrace | None = None
) -> AsyncGenerator[CodexChild]:
    """Runs `codex app-server` until the block ends. Enter it on the event loop of the main thread.

    With a `state_dir`, the child is recorded there while it runs, for `reap_orphans`.

    :raises ChildNotStarted: when the binary cannot be run.
    """
    child = _spawn(profile, grace or StopGrace())
    # No await between the spawn and this try: a cancellation in the gap would leak a live child.
    try:
        if state_dir is not None:
            _record(state_dir, child)
        yield child
    finally:
        exit_ = await child.stop()
        if state_dir is not None and exit_ != ChildExit():
            forget_child(state_dir, profile.key, mark=child.mark)


def _record(state_dir: Path, child: CodexChild) -> None:
    try:
        record_child(
            state_dir, child.profile.key, pid=child.pid, mark=child.mark, codex=child.profile.codex
        )
    except OSError:
        # Codex runs even if the disk is full; the end of its input and its parent's death still end
        # it.
        _log.warning("codex_child_not_recorded", pid=child.pid, exc_info=True)


def _spawn(profile: LaunchProfile, grace: StopGrace) -> CodexChild:
    # The shim hides a failed exec from Popen, so the common mistakes are looked for here.
    if not (profile.codex.is_file() and os.access(profile.codex, os.X_OK)):
        raise ChildNotStarted(profile.codex, "it is not an executable file")
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    try:
        popen = subprocess.Popen(
            launch_command(profile),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=child_environment(profile, os.environ) | {CHILD_MARK: mark},
            cwd=profile.cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "an argument holds a NUL"
        raise ChildNotStarted(profile.codex, reason) from error
    return CodexChild(profile, grace, mark, popen)
