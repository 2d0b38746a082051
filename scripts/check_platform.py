"""Checks that only `trimpoint.system` knows what differs between operating systems: no other module
of ours asks which one runs, calls what only some have, or reads a path that only some have.

`scripts/check` runs it. It prints `FILE:LINE: what is asked` and exits with 1 if anything is.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("daemon/trimpoint", "protocol/trimpoint_protocol")
ROOM = ROOT / "daemon" / "trimpoint" / "system"
# systemd is what this module is about.
ALLOWED = {("daemon/trimpoint/service/systemctl.py", "/run/systemd/system")}

MODULES = frozenset({"ctypes"})
QUESTIONS = frozenset({"sys.platform", "os.name", "os.uname"})
OPTIONAL = frozenset(
    {
        *("pidfd_open", "pidfd_send_signal", "fdatasync", "renameat2", "memfd_create", "eventfd"),
        *("sched_getaffinity", "setresuid", "prctl", "copy_file_range", "sendfile", "splice"),
        *("SO_PEERCRED", "SO_PEERSEC", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "F_SETPIPE_SZ"),
        *("O_TMPFILE", "O_PATH", "F_FULLFSYNC", "F_OFD_SETLK", "epoll", "kqueue"),
    }
)  # fmt: skip
PLACES = re.compile(r"/(proc|sys|run/systemd|dev/fd|dev/shm)(/|$)")


def main() -> int:
    """Checks every module; returns the exit code."""
    problems = [problem for folder in FOLDERS for problem in check(ROOT / folder)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check(folder: Path) -> Iterator[str]:
    """Yields what the modules below a folder ask."""
    for path in sorted(folder.rglob("*.py")):
        if ROOM not in path.parents:
            name = path.relative_to(ROOT).as_posix()
            for line, what in asked(path.read_text(encoding="utf-8")):
                if (name, what) not in ALLOWED:
                    yield f"{name}:{line}: `{what}` belongs into trimpoint.system"


def asked(source: str) -> Iterator[tuple[int, str]]:
    """Yields what a module asks of the system, with its lines."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = (alias.name.partition(".")[0] for alias in names)
                yield from ((node.lineno, name) for name in modules if name in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in MODULES:
                    yield node.lineno, module
                full = (f"{module}.{alias.name}" for alias in names)
                yield from ((node.lineno, name) for name in full if _is_asked(name))
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if _is_asked(f"{owner}.{name}"):
                yield node.lineno, f"{owner}.{name}"
            case ast.Constant(value=str(text)) if id(node) not in prose and PLACES.match(text):
                yield node.lineno, text


def _is_asked(name: str) -> bool:
    return name in QUESTIONS or name.rpartition(".")[2] in OPTIONAL


if __name__ == "__main__":
    sys.exit(main())
