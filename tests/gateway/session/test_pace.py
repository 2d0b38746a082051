"""Codex is paused for clients that read but cannot keep up."""

from collections.abc import Callable

import anyio
import anyio.lowlevel
from trimpoint.gateway.session.pace import MIN_BYTES_PER_LOOK, Pace

from tests.deadlines import STEP_S


class FakeReader:
    """A client that reads `rate` bytes each time that it is checked."""

    def __init__(self, rate: int, left: int) -> None:
        self.rate, self.left, self._sent = rate, left, 0

    @property
    def is_behind(self) -> bool:
        return self.left > 1000

    @property
    def has_caught_up(self) -> bool:
        return self.left < 500

    @property
    def sent_bytes(self) -> int:
        taken = min(self.rate, self.left)
        self.left -= taken
        self._sent += taken
        return self._sent


class Held:
    """Whether Codex is paused, and how often it was."""

    def __init__(self) -> None:
        self.times, self.is_held = 0, False
        self.pace = Pace(self._pause, self._resume)

    def _pause(self) -> None:
        self.times, self.is_held = self.times + 1, True

    def _resume(self) -> None:
        self.is_held = False

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(STEP_S):
            while not condition():
                await anyio.lowlevel.checkpoint()


async def test_codex_waits_for_a_client_that_reads_until_it_has_caught_up() -> None:
    held, reader = Held(), FakeReader(MIN_BYTES_PER_LOOK, 3 * MIN_BYTES_PER_LOOK)
    held.pace.check(reader)
    held.pace.check(reader)
    assert held.is_held
    await held.until(lambda: not held.is_held)
    assert reader.has_caught_up
    assert held.times == 1


async def test_codex_does_not_wait_for_a_client_that_does_not_read() -> None:
    held, reader = Held(), FakeReader(0, 5000)
    held.pace.check(reader)
    await held.until(lambda: not held.is_held)
    held.pace.check(reader)
    assert not held.is_held
    assert reader.left == 5000


async def test_a_client_that_stopped_and_caught_up_is_waited_for_again() -> None:
    held, reader = Held(), FakeReader(0, 5000)
    held.pace.check(reader)
    await held.until(lambda: not held.is_held)
    reader.left = 0
    await held.until(lambda: not held.pace.watches(reader))
    reader.left = 5000
    held.pace.check(reader)
    assert held.is_held


async def test_a_client_that_keeps_up_costs_nothing() -> None:
    held = Held()
    held.pace.check(FakeReader(0, 10))
    assert held.times == 0
