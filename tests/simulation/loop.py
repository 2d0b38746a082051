"""An event loop without a clock: when nothing is ready, time jumps to the next timer."""

import asyncio
import gc
import heapq
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from random import Random
from typing import Any

import anyio


class NothingHappens(AssertionError):
    """Raised when all tasks wait and nothing can wake them."""


class SeededLoop(asyncio.BaseEventLoop):
    """Runs what is ready in an order that `random` chooses, or as asyncio does if it is None. No
    thread, socket or signal may be used.
    """

    def __init__(self, random: Random | None) -> None:
        super().__init__()
        self.callbacks = 0
        self._random = random
        self._now_s = 0.0

    def time(self) -> float:
        return self._now_s

    def _process_events(self, event_list: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...

    def _run_once(self) -> None:
        scheduled, ready = self._scheduled, self._ready  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        if not ready:
            if not scheduled:
                raise NothingHappens
            self._now_s = max(self._now_s, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self._now_s:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            if not handle._cancelled:
                ready.append(handle)
        for _ in range(len(ready)):
            if self._random is not None and len(ready) > 1:
                ready.rotate(-self._random.randrange(len(ready)))
            handle = ready.popleft()
            if not handle._cancelled:
                self.callbacks += 1
                handle._run()


def run_without_clock(main: Callable[[], Awaitable[None]], random: Random | None = None) -> None:
    """Runs `main` on a `SeededLoop`."""
    anyio.run(main, backend_options={"loop_factory": lambda: SeededLoop(random)})


@contextmanager
def few_collections() -> Generator[None]:
    """Has Python look for garbage less often: short days leave little of it."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
