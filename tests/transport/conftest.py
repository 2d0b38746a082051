"""A folder that is short enough for the path of a socket."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    # pytest's own are too long for a socket's path.
    path = Path(tempfile.mkdtemp(prefix="tp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def socket_path(folder: Path) -> Path:
    return folder / "run" / "t.sock"
