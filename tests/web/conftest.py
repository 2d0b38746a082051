from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.web.browser import chromium
from tests.web.stage import Stage, staged


@pytest.fixture(scope="module")
async def browser() -> AsyncGenerator[Any]:
    """One Chromium for the tests of a module. Each test has contexts of its own, closed at its
    end: what they store they do not share.
    """
    async with chromium() as opened:
        yield opened


@pytest.fixture
async def stage(browser: Any) -> AsyncGenerator[Stage]:
    async with staged(browser) as opened:
        yield opened
        assert opened.page.faults == []
