"""Listeners hear of what is durable, until nobody is to hear any more."""

import pytest
from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import ThreadRegistry

from tests.threads.stage import Disk, Store, begin, turn


async def test_subscribers_receive_no_record_made_durable_after_the_end() -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        registry.subscribe(lambda *_: pytest.fail("who listens has ended"))
        registry.close()
        writer.record_facts(*turn("turn-1"))
        await writer.flush()
        assert [one.id for one in writer.state.turns] == ["turn-1"]
