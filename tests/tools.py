"""Programs that some tests need besides Python packages; `scripts/install-test-tools` installs
them.
"""

import os
from pathlib import Path
from typing import NoReturn

import pytest

VENV = Path(__file__).parents[1] / ".venv"

# Set where a tool that is missing is a failure; elsewhere its tests are skipped.
REQUIRED = bool(os.environ.get("TRIMPOINT_REQUIRE_TEST_TOOLS"))


def missing(what: str) -> NoReturn:
    """Skips the test, or fails it where all tools are required."""
    problem = f"{what} is not installed; scripts/install-test-tools installs it"
    if REQUIRED:
        pytest.fail(problem)
    pytest.skip(problem)
