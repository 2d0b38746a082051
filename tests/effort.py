"""How much the random tests try, and how many rows of a table are taken."""

import os

LONG_VARIABLE = "TRIMPOINT_E2E_LONG"
# Set by `scripts/test --fast`.
FEW_VARIABLE = "TRIMPOINT_TEST_FEW"
FEW_SHARE, FEW_CASES = 5, 3


def longer() -> int:
    """How many times as long as in CI the random tests run."""
    return max(1, int(os.environ.get(LONG_VARIABLE) or 1))


def few() -> bool:
    """Whether the tests run in a minute: a fifth of what chance decides, and at most three cases of
    each test.
    """
    return bool(os.environ.get(FEW_VARIABLE))


def tries(count: int) -> int:
    """How many examples a random test takes that has `count` of them in CI."""
    return max(1, count // FEW_SHARE) if few() else count * longer()
