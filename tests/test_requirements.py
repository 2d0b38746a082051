"""Every requirement has tests: each section of docs/spec is a row of the table in tests/README.md.

`scripts/check` proves that the tests in the table exist.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SPEC = TESTS.parent / "docs" / "spec"
# The overview of the pages says nothing of its own.
OVERVIEW = "README.md"
ROW = re.compile(r"^\| \[[^\]]+\]\(\.\./docs/spec/([^)]+)\) \| (\S.*) \|$", re.MULTILINE)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def requirements(page: Path) -> list[str]:
    """The sections of a page; the page itself if it has none."""
    sections = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [f"{page.name}#{anchor(section)}" for section in sections] or [page.name]


PAGES = sorted(page for page in SPEC.glob("*.md") if page.name != OVERVIEW)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_section_of_the_specification_names_its_tests(page: Path) -> None:
    rows = dict(ROW.findall((TESTS / "README.md").read_text(encoding="utf-8")))
    assert [requirement for requirement in requirements(page) if requirement not in rows] == []
