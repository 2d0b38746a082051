"""How much the random tests try."""

import os

LONG_VARIABLE = "TRIMPOINT_E2E_LONG"


def longer() -> int:
    """How many times as long as in CI the random tests run."""
    return max(1, int(os.environ.get(LONG_VARIABLE) or 1))
