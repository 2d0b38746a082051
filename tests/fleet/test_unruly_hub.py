"""Whatever a hub sends or refuses, the daemon goes on, and connects again."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from trimpoint.config.sections import FleetSection
from trimpoint.core.model.decision import Policy
from trimpoint.fleet import service
from trimpoint.fleet.hub.connection import Last
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.mirror import Diverged, _head_of
from trimpoint.fleet.service import Fleet, FleetDeps
from trimpoint.threads.registry import ThreadRegistry

from tests.deadlines import STEP_S
from tests.threads.stage import Disk, Store


class UnrulyHub:
    """A hub that refuses every subscription."""

    def __init__(self, failure: Exception) -> None:
        self.closed = anyio.Event()
        self._failure = failure

    async def subscribe(self, *_: Any) -> None:
        raise self._failure


@pytest.mark.parametrize("failure", [HubFailed("gone"), TypeError("a defect")])
async def test_a_failure_of_one_connection_does_not_end_the_daemon(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = anyio.Event()
    attempts: list[int] = []

    @asynccontextmanager
    async def connected(_: object) -> AsyncGenerator[UnrulyHub]:
        attempts.append(1)
        if len(attempts) > 1:
            again.set()
            await anyio.sleep_forever()
        yield UnrulyHub(failure)

    monkeypatch.setattr(service, "connected", connected)
    monkeypatch.setattr(service, "PAUSES_S", (0.0,))
    with anyio.fail_after(STEP_S):
        async with (
            ThreadRegistry.running(Store(Disk()), Policy()) as registry,
            anyio.create_task_group() as tasks,
        ):
            deps = FleetDeps(registry, Path, cast("Any", None), cast("Any", None))
            fleet = Fleet(FleetSection(servers=("nats://nowhere",)), "host", deps, tasks)
            tasks.start_soon(fleet.run)
            await again.wait()
            tasks.cancel_scope.cancel()


def test_a_message_of_another_program_is_no_copy_of_ours() -> None:
    with pytest.raises(Diverged):
        _head_of(cast("Last", type("Foreign", (), {"headers": {"Trimpoint-Thread-Sequence": "x"}})))
