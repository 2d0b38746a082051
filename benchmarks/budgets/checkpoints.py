"""A checkpoint of a large repository with a few changed files, compared with `git status`."""

import subprocess
import time
from pathlib import Path

import anyio
from trimpoint.git.capture.capture import capture
from trimpoint.git.plumbing.repository import Repository, discover

from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench

FILES, FILES_QUICK = 50_000, 2_000
CHANGED = 10
_FILES_IN_FOLDER = 100


def run(stage: Bench) -> Outcome:
    """Repeats: edit files, run `git status`, capture a checkpoint."""
    return anyio.run(_run, stage)


async def _run(stage: Bench) -> Outcome:
    files, rounds = stage.sized(FILES, FILES_QUICK), stage.sized(25, 5)
    folder = stage.room("repository")
    edited = _fill(folder, files)
    repository = await discover(folder)
    assert isinstance(repository, Repository)
    taken_s: dict[str, list[float]] = {"status": [], "capture": [], "idle": []}
    first_s = await _capture_s(repository)
    for number in range(rounds):
        for path in edited:
            path.write_text(f"round {number}\n")
        taken_s["status"].append(_status_s(folder))
        for what in ("capture", "idle"):
            taken_s[what].append(await _capture_s(repository))
    figures = [
        Figure(_CALLED[what], "ms", [second * 1000 for second in samples])
        for what, samples in taken_s.items()
    ]
    ratio = figures[1].least / figures[0].least
    return Outcome(
        [
            Verdict(
                f"capture : git status, {files:,} files",
                ratio,
                at_most(1.75, "×"),
                "wall clock, the least of each",
            )
        ],
        [*figures, Figure("the first capture ever", "ms", [first_s * 1000])],
    )


_CALLED = {
    "status": "git status",
    "capture": f"capture with {CHANGED} files changed",
    "idle": "capture with none changed",
}


def _fill(folder: Path, files: int) -> list[Path]:
    """Creates a repository with `files` committed files; returns those that will be edited."""
    for number in range(files // _FILES_IN_FOLDER):
        below = folder / f"{number % 20}" / f"{number}"
        below.mkdir(parents=True)
        for name in range(_FILES_IN_FOLDER):
            (below / f"file{name}").write_text(f"{number} {name}\n" * 20)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        _git(folder, *words)
    _git(folder, "status")
    return sorted(folder.rglob("file1"))[:CHANGED]


def _status_s(folder: Path) -> float:
    began = time.perf_counter()
    _git(folder, "status", "--porcelain")
    return time.perf_counter() - began


async def _capture_s(repository: Repository) -> float:
    began = time.perf_counter()
    await capture(repository)
    return time.perf_counter() - began


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
