"""The fixtures of the tests of the journal in a file."""

from pathlib import Path

import pytest

from tests.journal.faults import FaultyFiles


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.journal"


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()
