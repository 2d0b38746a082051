"""The lasting connection to Codex: starts a child when it is needed, and restarts it with growing
pauses when it ends (docs/spec/sessions.md, "Recovery").

An *epoch* is the life of one child. Request ids, loaded threads and open requests belong to an
epoch and end with it.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import anyio
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint_protocol.methods import CodexState

from trimpoint import __version__
from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderExited,
    ProviderFailure,
    RolloutCut,
)
from trimpoint.codex.appserver.initialize import InitializeResult
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.peer import Peer, PeerHandler, Traffic
from trimpoint.codex.appserver.process import ChildExit, ChildNotStarted, StopGrace, spawn_codex
from trimpoint.codex.appserver.versions import missing_method

log = structlog.get_logger()

CLIENT_INFO = {"name": "trimpoint", "title": "trimpoint", "version": __version__}
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
# A child that lived this long was healthy: the next death starts again with the shortest pause.
HEALTHY_AFTER_S = 30.0
# Words of Codex's refusals.
MISSING = (
    "no rollout found",
    "thread not found",
    "thread not loaded",
    "missing source rollout",
)
UNREADABLE = "failed to read session metadata"


class ProviderUnavailable(ProviderFailure):
    """Raised when Codex cannot be reached now; `reason` says why, and `hint` what to do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"Codex is not available: {self.reason}"


class LinkHandler(PeerHandler, Protocol):
    """Handles Codex's messages and the end of each epoch."""

    def on_epoch_ended(self, epoch: int, reason: str) -> None:
        """Handles the end of the child of an epoch, and with it of everything that belongs to the
        epoch.
        """
        ...


class CodexLink:
    """The connection to the Codex of one launch profile. Call `start` once; afterwards, `request`
    may be called from any task.
    """

    def __init__(
        self, profile: LaunchProfile, state_dir: Path | None, request_deadline_s: float
    ) -> None:
        self.profile = profile
        self.epoch = 0
        self.traffic = Traffic()
        """Counters of the messages of all children."""
        self.identity: InitializeResult | None = None
        self.request_deadline_s = request_deadline_s
        self._state_dir = state_dir
        self._handler: LinkHandler | None = None
        self._peer: Peer | None = None
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._failure: ProviderUnavailable | None = None
        self._connected_at_s: float | None = None

    def start(self, tasks: TaskGroup, handler: LinkHandler) -> None:
        """Supervises the child in `tasks`. The first child is started by the first request or
        `wake`.
        """
        self._handler = handler
        spawn(tasks, self._supervise, lasting=True)

    def wake(self) -> None:
        """Starts a child, even though there is no request for it."""
        self._wanted.set()

    def pause_reading(self) -> None:
        """Stops reading the messages of the present child."""
        if self._peer is not None:
            self._peer.pause_reading()

    def resume_reading(self) -> None:
        """Reads the messages of the present child again. A child that was started meanwhile is read
        in any case.
        """
        if self._peer is not None:
            self._peer.resume_reading()

    @property
    def peer(self) -> Peer | None:
        """Returns the initialized peer of the present epoch, or None."""
        return self._peer

    @property
    def version(self) -> tuple[int, int, int] | None:
        """Returns Codex's version, or None before the first connection."""
        return self.identity.version if self.identity is not None else None

    @property
    def state(self) -> CodexState:
        """Returns the state of the connection. It is `idle` before the first request, and while
        Codex is starting.
        """
        return (
            "connected"
            if self._peer is not None
            else "unavailable"
            if self._failure is not None
            else "idle"
        )

    @property
    def problem(self) -> str | None:
        """Returns the reason why Codex is not available, or None."""
        return self._failure.reason if self._failure is not None else None

    async def connected(self, deadline_s: float | None = None) -> Peer:
        """Returns the peer, and starts the child if necessary.

        :raises ProviderUnavailable: when there is no connection within the deadline.
        """
        self.wake()
        with anyio.move_on_after(deadline_s or self.request_deadline_s):
            while self._peer is None:
                if self._failure is not None:
                    raise self._failure
                await self._changed.wait()
            return self._peer
        raise self._failure or ProviderUnavailable(
            "it did not start in time", "The log says what was tried."
        )

    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Raw:
        """Sends a request to the present child, and returns its result.

        :raises ProviderFailure: see `Peer.request`; `ProviderUnavailable` when there is no child.
        """
        peer = await self.connected()
        return await peer.request(method, params, deadline_s=deadline_s or self.request_deadline_s)

    async def _supervise(self) -> None:
        pause_s = FIRST_PAUSE_S
        try:
            while True:
                await self._wanted.wait()
                self._connected_at_s = None
                reason = await self._run_epoch()
                if self._was_healthy():
                    pause_s = FIRST_PAUSE_S
                log.warning("codex_gone", epoch=self.epoch, reason=reason, next_start_in_s=pause_s)
                await anyio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                self._failure = None
        finally:
            # Tasks that clean up while the daemon ends must not wait for a child that is not
            # started.
            self._fail(ProviderUnavailable("its daemon ends", "Try again in a moment."))

    async def _run_epoch(self) -> str:
        assert self._handler is not None
        self.epoch += 1
        self._wanted = anyio.Event()
        reason = "it was never reached"
        try:
            async with AsyncExitStack() as stack:
                child = await stack.enter_async_context(
                    spawn_codex(self.profile, state_dir=self._state_dir, grace=StopGrace())
                )
                peer = Peer(child, self._handler, traffic=self.traffic)
                self.identity = await peer.initialize(CLIENT_INFO)
                log.info(
                    "codex_ready",
                    epoch=self.epoch,
                    user_agent=self.identity.user_agent,
                    pid=child.pid,
                )
                self._set_peer(peer)
                exit_: ChildExit = await peer.closed()
                reason = f"it {exit_}"
        except ChildNotStarted as error:
            reason = str(error)
            self._fail(ProviderUnavailable(reason, error.hint))
        except ProviderFailure as error:
            reason = str(error)
            tail = _last_words(error.stderr_tail) if isinstance(error, ProviderExited) else []
            self._fail(
                ProviderUnavailable(
                    "; ".join([reason, *tail]),
                    "`trimpoint daemon status` names the Codex in use; the log has what was tried.",
                )
            )
        finally:
            was_connected, self._peer = self._peer is not None, None
            if was_connected:
                self._handler.on_epoch_ended(self.epoch, reason)
        return reason

    def _was_healthy(self) -> bool:
        """Returns whether the last child answered and lived for a while. One that hangs while it
        starts was not.
        """
        began_s = self._connected_at_s
        return began_s is not None and anyio.current_time() - began_s > HEALTHY_AFTER_S

    def _set_peer(self, peer: Peer) -> None:
        self._connected_at_s = anyio.current_time()
        self._peer, self._failure = peer, None
        self._announce()

    def _fail(self, failure: ProviderUnavailable) -> None:
        self._failure = failure
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _last_words(stderr_tail: str) -> list[str]:
    """Returns the line of stderr that tells why Codex ended: the last one that begins with "Error",
    otherwise the last one.
    """
    lines = [line.strip() for line in stderr_tail.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("Error")]
    return errors[-1:] or lines[-1:]


def lacks_method(error: ProviderFailure) -> bool:
    """Returns whether Codex refused the request because its version lacks the method."""
    return missing_method(error) is not None


def is_missing_error(error: ProviderFailure) -> bool:
    """Returns whether Codex does not have the thread, or not whole. For `thread/read`, that means
    neither loaded nor stored (measured: 0.163). A `thread/resume` with `excludeTurns` misses the
    source rollout.
    """
    return isinstance(error, RolloutCut) or (
        isinstance(error, ProviderError) and any(phrase in error.message for phrase in MISSING)
    )


def is_damaged_error(error: ProviderFailure) -> bool:
    """Returns whether Codex cannot read what a thread's file begins with (measured: 0.133, 0.163).
    So it is for a moment with a thread that it has just begun.
    """
    return isinstance(error, ProviderError) and any(
        phrase in error.message
        for phrase in (UNREADABLE, "does not start with session metadata", ".jsonl is empty")
    )


def is_moving_error(error: ProviderFailure) -> bool:
    """Returns whether Codex did not find the rollout of a thread that this one was forked from,
    because it was archiving that thread: it finds it a moment later (measured: 0.163).
    """
    return isinstance(error, ProviderError) and "failed to read lineage metadata" in error.message


def is_unstored_error(error: ProviderFailure) -> bool:
    """Returns whether Codex has not yet stored the first turn of the thread, and has no history of
    it. Once the turn has begun, that takes milliseconds (measured: 0.163).
    """
    return isinstance(error, ProviderError) and any(
        phrase in error.message
        for phrase in (
            "list_turns is not supported yet",
            "paginated_threads is not supported yet",
            UNREADABLE,
            "is not materialized yet",
        )
    )


def is_archived_error(error: ProviderFailure) -> bool:
    """Returns whether Codex refused because the thread is archived."""
    return isinstance(error, ProviderError) and "is archived" in error.message


def is_in_use_error(error: ProviderFailure) -> bool:
    """Returns whether Codex refused because another program has the thread open."""
    return isinstance(error, ProviderError) and "already has an active writer" in error.message
