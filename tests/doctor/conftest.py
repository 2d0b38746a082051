"""The fixture of the tests of `trimpoint doctor`."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.doctor.stage import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with TemporaryDirectory(prefix="tp") as folder:
        yield Machine(Path(folder))
