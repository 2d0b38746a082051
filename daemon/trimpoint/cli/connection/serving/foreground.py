"""Runs a daemon in the foreground: start, stop, and the errors of a failed start.

Always true: the daemon ends by returning. A signal, also a second one, only requests the end; every
listener, client and child process is closed before the process exits.
"""

import asyncio
import faulthandler
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TextIO, cast

import anyio
import structlog
from trimpoint_protocol.locations import HomeUnknown

from trimpoint import event_loop
from trimpoint.app import Daemon, running_daemon
from trimpoint.cli.connection.endpoint import published_socket
from trimpoint.cli.connection.serving.control_socket import (
    control_socket_path,
    explained,
    remove_dead_link,
)
from trimpoint.cli.connection.serving.log_stream import LogStream
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.exits import DISK_FULL, CliError, UsageError, sole_error
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.orphans import started_as_provider
from trimpoint.journal.errors import JournalError, StateDirectoryBusy, StateDirectoryUnsafe
from trimpoint.logging import configure_logging
from trimpoint.service.activation import HandedOver
from trimpoint.transport.listeners import ListenError, serve_unix

log = structlog.get_logger()

# A ledger of 100,000 turns is many small objects without a cycle among them; Python's own
# thresholds look for cycles in it dozens of times while it is unpacked, which takes twice as long
# as the unpacking. All clients wait for a collection, so that the younger ones are small.
GC_THRESHOLDS = (2_000, 5, 10_000)
# While a thread weighs a long context, the event loop waits for it so long each time that it has
# read or written something; Python's own 5 ms make 20 ms of each request.
SWITCH_INTERVAL_S = 0.001
# glibc gives freed memory back to the system, and asks for it anew for the next chunk that is read:
# half of the processor time of a relay. It keeps twice the largest block that was ever freed.
LARGEST_FREED_BYTES = 1024 * 1024

_BUSY_HINT = (
    "Use the daemon that runs there (`trimpoint daemon status`), stop it (`trimpoint daemon "
    "shutdown`), "
    "or give this one a --state-dir of its own."
)
_UNSAFE_HINT = "Give a --state-dir of your own that no other user can write to (mode 0700)."
_STATE_HINT = "Give another --state-dir, or make this one writable."


class StopSignals:
    """Handles SIGTERM, SIGINT and SIGHUP from its creation until the process exits; each of them
    requests a clean end.

    If SIGHUP is ignored it stays ignored, so that `nohup trimpoint serve &` continues when its
    terminal closes.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._wake: Callable[[], object] | None = None
        self._numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            self._numbers.append(signal.SIGHUP)
        self._handle(self._receive)

    def ignore(self) -> None:
        """Ignores stop signals from now on, because the process is about to exit. Python removes
        its handlers before it exits, and a late signal would then kill the process.
        """
        self._handle(signal.SIG_IGN)

    def _handle(self, handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        for number in self._numbers:
            signal.signal(number, handler)

    async def wait(self) -> signal.Signals:
        """Waits for the first stop signal and returns it."""
        arrived = anyio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, arrived.set)
        while self.received is None:
            await arrived.wait()
        return self.received

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.received = self.received or signal.Signals(number)
        if self._wake is not None:
            with suppress(RuntimeError):  # the loop is closed: the process is exiting
                self._wake()


def run_daemon(settings: Settings, body: Callable[[StopSignals], Awaitable[int]]) -> int:
    """Sets up logging and signals, runs `body`, and returns its exit code.

    :raises CliError: when the daemon could not start, or must not.
    """
    if started_as_provider(dict(os.environ), os.getppid()):
        raise CliError(
            "This trimpoint was started by a trimpoint as its Codex, and would start another in "
            "its turn.",
            "Set --codex, or path in the [codex] table of the configuration, to the real Codex.",
        )
    sys.stderr = cast("TextIO", LogStream())
    try:
        configure_logging(settings.config.log.level)
    except ValueError as error:
        raise UsageError(f"The configuration is invalid: {error}.") from None
    _prepare_process(settings.config.limits.descriptors)
    stop = StopSignals()
    try:
        return event_loop.run(body, stop)
    except Exception as error:
        # Any error can be the one inside an exception group; what has no explanation is raised.
        explained = _explained(sole_error(error), settings.state_dir)
        if explained is None:
            raise
        raise explained from None
    finally:
        stop.ignore()


def _prepare_process(descriptors: int) -> None:
    """Raises the limit of open file descriptors to `descriptors` where the system allows it, sets
    the garbage collector's thresholds, how much freed memory is kept and how long a thread runs,
    and has stacks printed to the log when a watchdog's SIGABRT ends a hanging event loop.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    bytes(LARGEST_FREED_BYTES)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < descriptors:
        enough = descriptors if hard == resource.RLIM_INFINITY else min(descriptors, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, enough), hard))


def _explained(error: BaseException, state_dir: Path) -> CliError | None:
    """Returns a readable error for a problem that a person can solve; None for a defect, which
    needs its traceback.
    """
    match error:
        case CliError():
            return error
        case ListenError():
            return CliError(f"{error}.", error.hint, reason="cannot_listen")
        case StateDirectoryBusy():
            return CliError(f"{error}.", _BUSY_HINT, reason="state_directory_busy")
        case StateDirectoryUnsafe():
            return CliError(f"{error}.", _UNSAFE_HINT, reason="state_directory")
        case JournalError():
            return CliError(
                f"{error}.", "See `trimpoint serve --help` for --state-dir.", reason="journal"
            )
        case OSError() if error.errno in DISK_FULL:
            return None  # the command line says so, and what to do
        case OSError(filename=str(path)) if state_dir.is_relative_to(path) or Path(
            path
        ).is_relative_to(state_dir):
            return CliError(f"{path}: {error.strerror}.", _STATE_HINT, reason="state_directory")
        case _:
            return None


class Served(NamedTuple):
    """A running daemon and the socket where clients reach it."""

    daemon: Daemon
    socket: Path


@asynccontextmanager
async def daemon_on_socket(
    settings: Settings,
    profile: LaunchProfile,
    *,
    handed_over: HandedOver | None = None,
    fallback: Path | None = None,
) -> AsyncGenerator[Served]:
    """Runs a daemon that accepts clients at its Unix socket, while the block runs.

    :param handed_over: listening sockets that a service manager opened for this process, the Unix
        one at `settings.socket`; its file is not removed.
    :param fallback: the socket to use if `settings.socket` cannot be opened.

    :raises StateDirectoryBusy: when another daemon holds the state directory; nothing was changed.
    :raises ListenError: when the socket cannot be opened.
    """
    given = handed_over or HandedOver(None, None)
    running = running_daemon(
        settings.config, settings.state_dir, profile, http_listeners=given.http
    )
    async with running as daemon, AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(_listening(daemon, settings, given.listener))
        except ListenError as error:
            if fallback is None:
                raise
            log.warning("listening_elsewhere", problem=str(error), socket=str(fallback))
            settings = settings._replace(socket=fallback)
            await stack.enter_async_context(_listening(daemon, settings, None))
        yield Served(daemon, settings.socket)


@asynccontextmanager
async def serving_codex(
    daemon: Daemon, settings: Settings, *, may_lack_it: bool
) -> AsyncGenerator[None]:
    """Listens at Codex's control socket while the block runs, if that is configured.

    :param may_lack_it: continue without the control socket if it cannot be opened.
    :raises CliError: when it cannot be opened and `may_lack_it` is false.
    """
    if not settings.config.codex.control_socket:
        yield
        return
    try:
        place = control_socket_path(os.environ, settings.config.codex.home)
    except HomeUnknown as error:
        raise CliError(f"{error}.", "Set CODEX_HOME.", reason="cannot_listen") from None
    serve = partial(serve_unix, place, daemon.serve, max_clients=settings.config.limits.max_clients)
    async with anyio.create_task_group() as tasks:
        try:
            remove_dead_link(place)
            await tasks.start(serve)
        except ListenError as error:
            problem, hint = explained(error)
            if not may_lack_it:
                raise CliError(f"{problem}.", hint, reason="cannot_listen") from None
            log.warning("not_serving_codex", problem=problem, hint=hint)
        else:
            log.info("serving_codex", socket=str(place))
        yield
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _listening(
    daemon: Daemon, settings: Settings, listener: socket.socket | None
) -> AsyncGenerator[None]:
    place = settings.socket if listener is None else listener
    serve = partial(serve_unix, place, daemon.serve, max_clients=settings.config.limits.max_clients)
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve)
            with published_socket(settings.state_dir, settings.socket):
                log.info(
                    "listening",
                    socket=str(settings.socket),
                    handed_over=listener is not None,
                    pid=os.getpid(),
                )
                yield
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise sole_error(group) from None


async def stop_asked(daemon: Daemon, stop: StopSignals, idle_exit_s: float) -> str:
    """Waits until a signal or a client requests the end, or until the daemon was idle for
    `idle_exit_s`; returns the reason as a text for the log.

    :param idle_exit_s: seconds without a client and without work after which the daemon ends; 0:
        never.
    """
    reasons: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def by_signal() -> None:
            reasons.append((await stop.wait()).name)
            tasks.cancel_scope.cancel()

        async def by_disuse() -> None:
            await daemon.usage.ended(idle_exit_s)
            reasons.append("no client, no work")
            tasks.cancel_scope.cancel()

        tasks.start_soon(by_signal)
        if idle_exit_s:
            tasks.start_soon(by_disuse)
        await daemon.stop_requested.wait()
        reasons.append("sidecar/shutdown")
        tasks.cancel_scope.cancel()
    return reasons[0]
