"""The work tree that the tests of restores begin with."""

from pathlib import Path

import pytest

from tests.git.restoring import Scene


@pytest.fixture
async def setup(tmp_path: Path) -> Scene:
    return await Scene(tmp_path / "tree").played()
