from collections.abc import AsyncIterator

import pytest

from tests.web.stage import Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as opened:
        yield opened
        assert opened.page.faults == []
