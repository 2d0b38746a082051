"""What the next daemon believes about threads whose journals it does not open."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import anyio
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import ThreadRegistry

from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin, published


@dataclass
class DiskThatFills(Disk):
    """Calls `meanwhile` as the next write succeeds, and takes no more of the thread then."""

    meanwhile: Callable[[], None] | None = None

    def write(self, path: Path) -> None:
        super().write(path)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
            self.fill(THREAD)


async def test_a_thread_that_is_ahead_of_its_journal_is_read_by_the_next_daemon() -> None:
    disk = DiskThatFills()
    with anyio.fail_after(STEP_S):
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            writer = await begin(registry)
            disk.meanwhile = lambda: writer.record_facts(ev.TurnCompleted("T1", "completed"))
            with published(registry, ev.TurnStarted) as begun:
                writer.record_facts(ev.TurnStarted("T1", 1))
                await begun.wait()
            await registry.sweep()  # writes the catalogue
            left = Disk(records=deepcopy(disk.records), checked=dict(disk.checked))
        async with ThreadRegistry.running(Store(left), Policy()) as registry:
            writer = await registry.thread(THREAD)
            assert registry.relearned == [THREAD]
            assert (writer.state.running_turn_id, writer.state.turns[-1].status) == (
                None,
                "interrupted",
            )
