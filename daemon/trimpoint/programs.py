"""Finds the programs that trimpoint runs: git and Codex."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path


def folders_of_path(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yields the absolute entries of `PATH`. Any other entry, and an empty one, depends on the
    present folder, which may be anybody's repository.
    """
    yield from filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep))


_resolved: dict[tuple[str, str | None], Path] = {}


def find_program_once(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the absolute path of a program in `PATH`, or None: for as long as it is there, the
    same as the first time, so that a program that comes into an earlier folder is never run.
    """
    key = name, environ.get("PATH")
    known = _resolved.get(key)
    if known is None or not os.access(known, os.X_OK):
        known = find_program(name, environ)
        if known is not None:
            _resolved[key] = known
    return known


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the absolute path of a program in `PATH`, or None."""
    found = shutil.which(name, path=os.pathsep.join(folders_of_path(environ)) or os.devnull)
    return Path(found) if found else None
