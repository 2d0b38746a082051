"""Checks that each row of the threat model (`docs/internals/threats.md`) names a test that exists.

`scripts/check` runs it. A table of threats has the columns of `COLUMNS`, and the last cell of each
row names tests, each in backticks as `tests/FOLDER/test_FILE.py::test_NAME`. It prints
`FILE:LINE: what is missing` and exits with 1 if anything is.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path("docs/internals/threats.md")
COLUMNS = ["Asset", "Threat", "Defence", "Test"]
ATTACKERS = (
    "An agent",
    "A hostile repository",
    "Another user",
    "A web page",
    "A broken client",
    "The words of a model or a tool",
    "The log of another agent",
    "A peer of the fleet",
)
"""The headings of the sections that have to be there, each with a table."""

_SECTION = re.compile(r"(#+) (.*)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def main() -> int:
    """Checks the page; returns the exit code."""
    problems = [*check((ROOT / PAGE).read_text(encoding="utf-8"))]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(page: str) -> Iterator[str]:
    """Yields what is wrong with the threat model of a page."""
    section, rows = "", dict.fromkeys(ATTACKERS, 0)
    for number, line in enumerate(page.splitlines(), 1):
        if (heading := _SECTION.fullmatch(line)) is not None:
            section = heading[2]
        elif line.startswith("|") and section in rows:
            cells = [cell.strip() for cell in line.strip("|").split(" |")]
            if rows[section] == 0 and cells != COLUMNS:
                yield f"{PAGE}:{number}: the columns are {cells}, not {COLUMNS}"
            rows[section] += 1
            if rows[section] > 2:  # behind the head and its line
                yield from (f"{PAGE}:{number}: {problem}" for problem in check_row(cells))
    yield from (f"{PAGE}: no threat by {name!r}" for name, count in rows.items() if count < 3)


def check_row(cells: list[str]) -> Iterator[str]:
    """Yields what is wrong with a row."""
    if len(cells) != len(COLUMNS) or not all(cells):
        yield f"{len(COLUMNS)} cells are needed, none of them empty"
        return
    tests = _TEST.findall(cells[-1])
    if not tests:
        yield "it names no test"
    for path, name in tests:
        if name not in tests_in(path):
            yield f"there is no test {path}::{name}"


@cache
def tests_in(path: str) -> frozenset[str]:
    """Returns the names of the tests of a module, those in classes included."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    found = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    functions = (node for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


if __name__ == "__main__":
    sys.exit(main())
