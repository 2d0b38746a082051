"""A disk that takes its time, and that can be copied at any moment as `kill -9` leaves it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import anyio

from tests.threads.stage import Disk


@dataclass
class SimulatedDisk(Disk):
    """A disk whose accesses take as long as `random` says. `on_step` is called before each
    write.
    """

    random: Random = field(default_factory=Random)
    slowest_s: float = 0.01
    on_step: Callable[[], None] = lambda: None

    async def wait(self) -> None:
        await anyio.sleep(self.random.random() * self.slowest_s)

    def write(self, path: Path) -> None:
        self.on_step()
        super().write(path)

    def fill(self, thread_id: str | None = None) -> None:
        self.on_refusal = lambda: None
        super().fill(thread_id)

    def copied(self) -> "SimulatedDisk":
        """Returns the disk as the next daemon finds it."""
        records = {thread_id: list(held) for thread_id, held in self.records.items()}
        return SimulatedDisk(records=records, checked=dict(self.checked), random=self.random)
