"""A scripted child in the place of Codex."""

from pathlib import Path

import pytest
from trimpoint.codex.appserver.launch import LaunchProfile

from tests.codex.children import scripted
from tests.codex.stage import (
    SCRIPTED_CHILD,
)


@pytest.fixture
def puppet(tmp_path: Path) -> LaunchProfile:
    return scripted(tmp_path, SCRIPTED_CHILD)
