"""Where a benchmark runs: a folder on a real disk, and how much of everything it may take."""

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
    """`quick`: small sizes and few repetitions, to see that it works; its ratios mean little."""

    folder: Path
    quick: bool

    def sized(self, whole: T, quick: T) -> T:
        """`whole`, or `quick` on a quick run."""
        return quick if self.quick else whole

    def room(self, name: str) -> Path:
        """A fresh folder inside."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))


@contextmanager
def set_stage(parent: Path | None, *, quick: bool) -> Generator[Bench]:
    """A stage below `parent`, or below the folder for temporary files; removed afterwards.

    :raises ValueError: when the folder is kept in memory.
    """
    with tempfile.TemporaryDirectory(prefix="tpb", dir=parent) as folder:
        if (kind := _file_system(Path(folder))) in _IN_MEMORY:
            raise ValueError(f"{folder} is on a {kind}: name a folder on a disk with --dir")
        yield Bench(Path(folder), quick)


def _file_system(path: Path) -> str:
    """The kind of file system `path` is on, "" where the kernel does not say."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    holding = [
        (mount[1], mount[2])
        for mount in mounts
        if os.path.commonpath([mount[1], path.resolve()]) == mount[1]
    ]
    return max(holding, key=lambda mount: len(mount[0]), default=("", ""))[1]
