"""systemd's tools, where they are installed. CI installs them and sets `TRIMPOINT_REQUIRE_SYSTEMD`:
there, their absence fails.
"""

import os
import shutil

import pytest

REQUIRED = "TRIMPOINT_REQUIRE_SYSTEMD"


def tool(name: str) -> str:
    """The path of a tool of systemd; the test that asks is skipped where there is none."""
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed (Debian: apt-get install systemd)"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(reason)
    return path
