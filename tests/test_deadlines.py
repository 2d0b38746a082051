"""Deadlines of tests are made of those in `tests/deadlines.py`, which suit a busy machine."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
# Programs that drive other agents once, to make fixtures.
NO_TESTS = TESTS / "sessionlogs" / "make"
OF_ITS_OWN = re.compile(r"fail_after\(\s*[\d.]+\s*\)")


def test_no_test_has_a_deadline_of_its_own() -> None:
    found = [
        f"{path.relative_to(TESTS)}: {deadline}"
        for path in TESTS.rglob("*.py")
        if NO_TESTS not in path.parents
        for deadline in OF_ITS_OWN.findall(path.read_text())
    ]
    assert not found
