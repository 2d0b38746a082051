"""Pauses Codex while clients that do read cannot keep up with it.

Codex can print faster than a client reads: a command with a hundred megabytes of output filled the
outbox of a client that read all the time (measured), and the client was dropped. So Codex's output
is not read while such a client is behind. A client that has stopped reading delays the others only
for a few seconds, and is dropped when its outbox is full. The timers are asyncio's, because the
check runs in callbacks that move bytes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LOOK_S = 0.1
MAX_HOLD_S = 4.0
# On a busy machine a client that reads may not get its turn for a while.
MAX_IDLE_LOOKS = 5
MIN_BYTES_PER_LOOK = 64 * 1024


class Reader(Protocol):
    """A client, as the pace needs it.

    `is_behind` is true while many of its bytes are queued, `has_caught_up` once few are or the
    client has disconnected.
    """

    @property
    def is_behind(self) -> bool: ...
    @property
    def has_caught_up(self) -> bool: ...
    @property
    def sent_bytes(self) -> int: ...


@dataclass(slots=True)
class _Behind:
    sent_bytes: int
    until_s: float
    idle_looks: int = 0
    is_waited_for: bool = True


class Pace:
    """Calls `pause` when a client that reads is behind, and `resume` when no client has to be
    waited for.
    """

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._behind: dict[Reader, _Behind] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = False

    def check(self, reader: Reader) -> None:
        """Pauses Codex if this client is behind. Call it after bytes were queued for the client."""
        if not reader.is_behind or reader in self._behind:
            return
        loop = asyncio.get_running_loop()
        self._behind[reader] = _Behind(reader.sent_bytes, loop.time() + MAX_HOLD_S)
        self._timer = self._timer or loop.call_later(LOOK_S, self._look)
        self._update()

    def watches(self, reader: Reader) -> bool:
        """Returns whether the client was behind and has not caught up yet."""
        return reader in self._behind

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for reader, behind in tuple(self._behind.items()):
            if reader.has_caught_up:
                del self._behind[reader]
                continue
            taken_bytes = reader.sent_bytes - behind.sent_bytes
            behind.sent_bytes = reader.sent_bytes
            is_idle = taken_bytes < MIN_BYTES_PER_LOOK
            behind.idle_looks = behind.idle_looks + 1 if is_idle else 0
            if behind.idle_looks >= MAX_IDLE_LOOKS or loop.time() > behind.until_s:
                behind.is_waited_for = False
        self._timer = loop.call_later(LOOK_S, self._look) if self._behind else None
        self._update()

    def _update(self) -> None:
        waits = any(behind.is_waited_for for behind in self._behind.values())
        if waits != self._is_paused:
            self._is_paused = waits
            (self._pause if waits else self._resume)()
