"""The table of failures names tests that exist."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def test_each_test_that_the_table_of_failures_names_exists() -> None:
    named = set(re.findall(r"\btest_\w+(?=`)", (FOLDER / "README.md").read_text()))
    code = "".join(path.read_text() for path in FOLDER.glob("test_*.py"))
    assert len(named) > 25
    assert [one for one in sorted(named) if f"def {one}(" not in code] == []
