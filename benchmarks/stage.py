"""The folder that a benchmark works in, and the sizes that it uses."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")
# Nothing is ever synced to these, so a benchmark of syncing would measure nothing.
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


class Bench(NamedTuple):
    """The folder and the sizes of a run. `quick`: small sizes and few repetitions, to check that
    the benchmark works; its ratios mean little.
    """

    folder: Path
    quick: bool

    def sized(self, whole: T, quick: T) -> T:
        """Returns `quick` on a quick run, otherwise `whole`."""
        return quick if self.quick else whole

    def room(self, name: str) -> Path:
        """Creates a folder for one measurement."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))


@contextmanager
def set_stage(parent: Path | None, *, quick: bool) -> Generator[Bench]:
    """Yields a new folder below `parent`, or below the folder for temporary files; it is removed
    afterwards.

    :raises ValueError: when the folder is on a file system in memory.
    """
    with tempfile.TemporaryDirectory(prefix="tpb", dir=parent) as folder:
        if (kind := _file_system(Path(folder))) in _IN_MEMORY:
            raise ValueError(f"{folder} is on a {kind}: name a folder on a disk with --dir")
        yield Bench(Path(folder), quick)


def _file_system(path: Path) -> str:
    """Returns the type of the file system of `path`; empty if the kernel does not report it."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    holding = [
        (mount[1], mount[2])
        for mount in mounts
        if os.path.commonpath([mount[1], path.resolve()]) == mount[1]
    ]
    return max(holding, key=lambda mount: len(mount[0]), default=("", ""))[1]
