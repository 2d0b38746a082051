"""Checks that no module of ours has more than 400 lines: what is longer is about more than one
thing.

`scripts/check` runs it. It prints `FILE: the number of lines` and exits with 1 if one is too long.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "benchmarks",
    "daemon",
    "editors",
    "protocol",
    "scripts",
    "tests",
    "web/app",
    "web/tests",
)
SUFFIXES = frozenset({".js", ".lua", ".py", ".ts"})
MADE = frozenset({"built", "node_modules"})
MAX_LINES = 400


def main() -> int:
    """Checks every module; returns the exit code."""
    problems = [problem for folder in FOLDERS for problem in check(ROOT / folder)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(folder: Path) -> Iterator[str]:
    """Yields the modules below a folder that are too long."""
    for path in sorted(folder.rglob("*")):
        is_ours = not MADE & set(path.parts) and not path.name.endswith(".d.ts")
        if path.suffix in SUFFIXES and is_ours:
            name = path.relative_to(ROOT).as_posix()
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > MAX_LINES:
                yield f"{name}: {lines} lines, {MAX_LINES} are allowed"


if __name__ == "__main__":
    sys.exit(main())
