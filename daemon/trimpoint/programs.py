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


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the absolute path of a program in `PATH`, or None."""
    found = shutil.which(name, path=os.pathsep.join(folders_of_path(environ)) or os.devnull)
    return Path(found) if found else None
