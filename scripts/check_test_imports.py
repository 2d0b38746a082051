"""Checks that no module imports a test module: what several tests need belongs in a module of its
own beside them, where one looks for it.

`scripts/check` runs it. It prints `FILE:LINE: what is imported` and exits with 1 if there is such
an import.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "daemon", "protocol", "scripts", "tests")


def main() -> int:
    """Checks every module; returns the exit code."""
    problems = [problem for folder in FOLDERS for problem in check(ROOT / folder)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(folder: Path) -> Iterator[str]:
    """Yields the imports of test modules below a folder."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for imported in names_in(node):
                if any(part.startswith("test_") for part in imported.split(".")):
                    yield f"{name}:{node.lineno}: imports {imported}, from a test module"


def names_in(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Returns the dotted names that a statement imports."""
    module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    return [f"{module}{alias.name}" for alias in statement.names]


if __name__ == "__main__":
    sys.exit(main())
