from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.http.stage import Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    with TemporaryDirectory(prefix="tp") as folder:
        async with staged(Path(folder)) as opened:
            yield opened
