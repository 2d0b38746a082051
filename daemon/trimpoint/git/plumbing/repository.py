"""Finds the work tree that a folder is in."""

import os
import re
import shutil
from pathlib import Path

import anyio
import msgspec

from trimpoint.git.plumbing.process import GitOutput, GitRun, run_git

MINIMUM_VERSION = (2, 25)
_DISCOVERY_DEADLINE_S = 20.0
_OUTSIDE = "{} does not lie in a git repository."


class Repository(msgspec.Struct, frozen=True):
    """A work tree and its git directories. Two threads use the same work tree if and only if
    `worktree` is equal.

    `git_dir` belongs to this work tree alone, `common_dir` to all work trees of the repository.
    `hash_name` is `sha1` or `sha256`.
    """

    git: Path
    worktree: Path
    git_dir: Path
    common_dir: Path
    objects_dir: Path
    hash_name: str = "sha1"

    @property
    def private_dir(self) -> Path:
        """Returns the folder of the daemon's own index. No file in it belongs to the user."""
        return self.git_dir / "trimpoint"

    @property
    def store_dir(self) -> Path:
        """Returns the path of the store, which has the checkpoints of all worktrees of the
        repository.
        """
        return self.common_dir / "trimpoint-checkpoints.git"

    @property
    def store_objects(self) -> Path:
        """Returns the path of the store's objects."""
        return self.store_dir / "objects"


class NoRepository(msgspec.Struct, frozen=True):
    """The reason why there can be no checkpoints, as a sentence, and what the person can do, or an
    empty hint.
    """

    reason: str
    hint: str = ""


async def discover(folder: Path) -> Repository | NoRepository:
    """Returns the work tree that `folder` is in, or the reason why there is none. Git's own checks
    apply: a repository of another owner is refused.

    :raises GitFailed: when git exceeded its deadline or cannot be run
    """
    if not await anyio.Path(folder).is_dir():
        return NoRepository(f"The folder {folder} does not exist any more.")
    git = await anyio.to_thread.run_sync(shutil.which, "git")
    if git is None:
        return NoRepository(
            "git is not installed, so there are no checkpoints.",
            "Install git, or put it in the daemon's PATH.",
        )
    if not await anyio.to_thread.run_sync(_may_lie_in_repository, folder):
        return NoRepository(_OUTSIDE.format(folder))
    return await _Discovery(Path(git), folder).result()


class _Discovery:
    def __init__(self, git: Path, folder: Path) -> None:
        self._git = git
        self._folder = folder

    async def result(self) -> Repository | NoRepository:
        version = (await self._run("version")).stdout.decode(errors="replace")
        if _parsed(version) < MINIMUM_VERSION:
            wanted = ".".join(map(str, MINIMUM_VERSION))
            return NoRepository(
                f"This is {version.strip()}; checkpoints need git {wanted} or newer.",
                "Install a newer git.",
            )
        inside = await self._run("rev-parse", "--is-inside-work-tree")
        if inside.status != 0:
            return self._refusal(inside)
        if inside.stdout.strip() != b"true":
            return NoRepository(
                f"{self._folder} is inside of a git directory or a bare repository and has no work "
                "tree."
            )
        return await self._repository()

    async def _repository(self) -> Repository:
        hash_name = await self._run("config", "extensions.objectFormat")
        return Repository(
            git=self._git,
            worktree=await self._path("--show-toplevel"),
            git_dir=await self._path("--absolute-git-dir"),
            common_dir=await self._path("--git-common-dir"),
            objects_dir=await self._path("--git-path", "objects"),
            hash_name=hash_name.stdout.decode().strip().lower() or "sha1",
        )

    async def _path(self, *question: str) -> Path:
        answer = (await self._run("rev-parse", *question)).stdout
        # Git appends one newline; any other is part of the name.
        return Path(
            await anyio.Path(self._folder / os.fsdecode(answer.removesuffix(b"\n"))).resolve()
        )

    async def _run(self, *arguments: str) -> GitOutput:
        doing = f"look at {self._folder}"
        return await run_git(
            GitRun(
                git=self._git,
                arguments=arguments,
                doing=doing,
                cwd=self._folder,
                deadline_s=_DISCOVERY_DEADLINE_S,
            )
        )

    def _refusal(self, output: GitOutput) -> NoRepository:
        said = output.stderr.decode(errors="replace")
        if "not a git repository" in said:
            return NoRepository(_OUTSIDE.format(self._folder))
        if "dubious ownership" in said or "unsafe repository" in said:
            return NoRepository(
                f"git refuses the repository that {self._folder} lies in, because another user "
                "owns it.",
                f"If you trust it: {_trust_command(said)}",
            )
        first = said.strip().splitlines()[:1] or ["it did not say why"]
        return NoRepository(
            f"git cannot read the repository that {self._folder} lies in: "
            f"{first[0].removeprefix('fatal: ')}."
        )


def _may_lie_in_repository(folder: Path) -> bool:
    """Returns False if git would find no repository. This is cheaper than running git, and is asked
    before every turn, mostly outside of any repository.
    """
    resolved = folder.resolve()
    return any(
        os.path.lexists(at / ".git") or (at / "objects").is_dir()
        for at in (resolved, *resolved.parents)
    )


def _trust_command(said: str) -> str:
    # Git's message contains the command, with the path quoted correctly.
    command = re.search(r"git config --global --add safe\.directory .+", said)
    return (
        command.group().strip() if command else "git config --global --add safe.directory <folder>"
    )


def _parsed(version: str) -> tuple[int, ...]:
    numbers = re.search(r"(\d+)\.(\d+)", version)
    return tuple(map(int, numbers.groups())) if numbers else (0,)
