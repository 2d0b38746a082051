"""Checks that every docstring of a function begins with a verb in the third person: "Returns",
"Sends", "Raises". The whole project has this one voice.

`scripts/check` runs it. It prints `FILE:LINE: the first word` and exits with 1 if one is wrong.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("daemon", "protocol", "benchmarks", "scripts")
# Words that the pattern takes for verbs.
THIRD_PERSON = re.compile(r"[A-Z][a-z]+s")
NO_VERBS = frozenset({"Always", "Messages", "Options", "Permissions", "Settings", "This"})


def main() -> int:
    """Checks every function; returns the exit code."""
    problems = [
        problem
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for problem in check(path)
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(path: Path) -> Iterator[str]:
    """Yields the docstrings of a module's functions that begin with another word."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        words = (ast.get_docstring(node) or "Returns").split(maxsplit=1)
        first = words[0].rstrip(",:;.")
        if not THIRD_PERSON.fullmatch(first) or first in NO_VERBS:
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            yield f"{place}: `{node.name}`: the docstring begins with {first!r}, which is no verb"


if __name__ == "__main__":
    sys.exit(main())
