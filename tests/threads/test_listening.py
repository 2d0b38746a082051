"""Listeners hear of what is durable, until nobody is to hear any more."""

import pytest
from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import Engine

from tests.threads.stage import Disk, Store, begin, turn


async def test_nobody_hears_what_is_made_durable_after_the_end() -> None:
    async with Engine.running(Store(Disk()), Policy()) as engine:
        writer = await begin(engine)
        engine.listen(lambda *_: pytest.fail("who listens has ended"))
        engine.deafen()
        writer.record_facts(*turn("turn-1"))
        await writer.settle()
        assert [one.id for one in writer.state.turns] == ["turn-1"]
