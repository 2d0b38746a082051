"""Finds the work tree that a folder is in.

Only a `.git` makes a repository: the folder, or the file that worktrees and submodules have. Git
itself also takes any folder with a `HEAD`, `objects` and `refs` for a bare repository, and these
are files that an agent can write, with settings of its choice.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec

from trimpoint.git.dot_git import folders_to_look_in
from trimpoint.git.plumbing.process import GitOutput, GitRun, run_git
from trimpoint.programs import find_program_once

MINIMUM_VERSION = (2, 25)
_DISCOVERY_DEADLINE_S = 20.0
_OUTSIDE = "{} is not in a git repository."
_NO_WORK_TREE = "{} is inside of a git directory or a bare repository and has no work tree."
_GITFILE_BYTES = 8 * 1024


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
    git = await anyio.to_thread.run_sync(find_program_once, "git")
    if git is None:
        return NoRepository(
            "git is not installed, so there are no checkpoints.",
            "Install git, or put it in the daemon's PATH.",
        )
    top = await anyio.to_thread.run_sync(_nearest_with_git, folder)
    if isinstance(top, NoRepository):
        return top
    return await _Discovery(git, folder, top).result()


class _Discovery:
    def __init__(self, git: Path, folder: Path, top: Path) -> None:
        self._git = git
        self._folder = folder
        self._top = top

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
            return NoRepository(_NO_WORK_TREE.format(self._folder))
        repository = await self._repository()
        return await anyio.to_thread.run_sync(self._checked, repository)

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

    def _checked(self, repository: Repository) -> Repository | NoRepository:
        """Returns the repository if it is what its `.git` says. Older versions of git find a bare
        one, too; and its settings may name a work tree elsewhere, or a common directory of another
        repository.
        """
        git_dir, common = repository.git_dir, repository.common_dir
        resolved = self._folder.resolve()
        if git_dir in (resolved, *resolved.parents):
            return NoRepository(_NO_WORK_TREE.format(self._folder))
        if _target_of(repository.worktree / ".git") != git_dir:
            return NoRepository(_OUTSIDE.format(self._folder))
        if git_dir != common and git_dir.parent != common / "worktrees":
            return NoRepository(
                f"The git directory {git_dir} says that it is part of {common}, and is not."
            )
        return repository

    async def _path(self, *question: str) -> Path:
        answer = (await self._run("rev-parse", *question)).stdout
        # Git appends one newline; any other is part of the name.
        return Path(await anyio.Path(self._top / os.fsdecode(answer.removesuffix(b"\n"))).resolve())

    async def _run(self, *arguments: str) -> GitOutput:
        doing = f"look at {self._folder}"
        return await run_git(
            GitRun(
                git=self._git,
                arguments=arguments,
                doing=doing,
                cwd=self._top,
                deadline_s=_DISCOVERY_DEADLINE_S,
            )
        )

    def _refusal(self, output: GitOutput) -> NoRepository:
        said = output.stderr.decode(errors="replace")
        if "not a git repository" in said or "cannot use bare repository" in said:
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


def _nearest_with_git(folder: Path) -> Path | NoRepository:
    """Returns the nearest folder that has a `.git`, from where git is asked. Looking is cheaper
    than running git, and is done before every turn, mostly outside of any repository.
    """
    above = list(_on_one_file_system(folder.resolve()))
    top = next((at for at in above if os.path.lexists(at / ".git")), None)
    if top is not None:
        return top
    is_bare = any((at / "objects").is_dir() and (at / "HEAD").exists() for at in above)
    return NoRepository((_NO_WORK_TREE if is_bare else _OUTSIDE).format(folder))


def _on_one_file_system(folder: Path) -> Iterator[Path]:
    """Yields the folder and those above it, as far as git looks."""
    device = folder.stat().st_dev
    for at in map(Path, folders_to_look_in(str(folder))):
        if at.stat().st_dev != device:
            return
        yield at


def _target_of(dot_git: Path) -> Path | None:
    """Returns the git directory that a `.git` is, or that it names as a file."""
    if dot_git.is_dir():
        return dot_git.resolve()
    try:
        with dot_git.open("rb") as file:
            said = file.read(_GITFILE_BYTES)
    except OSError:
        return None
    named = said.removeprefix(b"gitdir: ").rstrip(b"\r\n")
    return (dot_git.parent / os.fsdecode(named)).resolve() if named != said else None


def _trust_command(said: str) -> str:
    # Git's message contains the command, with the path quoted correctly.
    command = re.search(r"git config --global --add safe\.directory .+", said)
    return (
        command.group().strip() if command else "git config --global --add safe.directory <folder>"
    )


def _parsed(version: str) -> tuple[int, ...]:
    numbers = re.search(r"(\d+)\.(\d+)", version)
    return tuple(map(int, numbers.groups())) if numbers else (0,)
