"""systemd's tools, where they are installed. CI installs them and sets `TRIMPOINT_REQUIRE_SYSTEMD`,
so that their absence fails a test there.
"""

import os
import shutil

import pytest

REQUIRED = "TRIMPOINT_REQUIRE_SYSTEMD"


def tool(name: str) -> str:
    """Returns the path of one of systemd's tools. Skips the test if it is not installed."""
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed (Debian: apt-get install systemd)"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(reason)
    return path
