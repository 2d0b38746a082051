"""Worktrees made with real git, and their content in a form that can be compared."""

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from trimpoint.config.sections import CheckpointsSection
from trimpoint.git.capture.capture import Checkpoint, capture
from trimpoint.git.plumbing.repository import Repository, discover

_WHO = {
    f"GIT_{role}_{what}": f"tester{at}"
    for role in ("AUTHOR", "COMMITTER")
    for what, at in (("NAME", ""), ("EMAIL", "@localhost"))
}


def git(folder: Path, *arguments: str, check: bool = True, stdin: bytes = b"") -> bytes:
    """Returns the output of the person's git."""
    settings = (
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "gc.auto=0",
    )
    return subprocess.run(
        ["git", *settings, *arguments],
        cwd=folder,
        env=os.environ | _WHO,
        input=stdin,
        stdout=subprocess.PIPE,
        check=check,
    ).stdout


def store_of(folder: Path) -> Path:
    """Returns trimpoint's repository that keeps the checkpoints of the repository at `folder`."""
    return folder / ".git" / "trimpoint-checkpoints.git"


def kept(folder: Path, *arguments: str, check: bool = True) -> bytes:
    """Returns git's output for trimpoint's own repository."""
    return git(folder, f"--git-dir={store_of(folder)}", *arguments, check=check)


def new_repository(
    folder: Path, files: dict[str, str | bytes] | None = None, *, commit: bool = True
) -> Path:
    """Makes a repository with these files, committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    write(folder, files or {})
    if commit:
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", "first")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes these files, and makes their folders."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


async def found(folder: Path) -> Repository:
    """Returns the repository at `folder`, which must exist."""
    repository = await discover(folder)
    assert isinstance(repository, Repository), repository
    return repository


async def captured(folder: Path, **limits: int | None) -> Checkpoint:
    """Returns a checkpoint of the worktree."""
    return await capture(await found(folder), CheckpointsSection(**limits) if limits else None)


def contents(folder: Path) -> dict[bytes, tuple[str, bytes]]:
    """Returns every file and link below `folder`, with its kind and its bytes, except git's own."""
    top = os.fsencode(folder)
    result: dict[bytes, tuple[str, bytes]] = {}
    for at, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in (*files, *links):
            path = os.path.join(at, name)
            if name != b".git":
                result[os.path.relpath(path, top)] = _content(path)
    return result


def users_side(folder: Path) -> dict[str, bytes | None]:
    """Returns everything of the person's git: index, HEAD, refs, reflogs, stash, settings, `git
    status`.
    """
    git_dir = Path(os.fsdecode(git(folder, "rev-parse", "--absolute-git-dir").strip()))
    common = (folder / os.fsdecode(git(folder, "rev-parse", "--git-common-dir").strip())).resolve()
    files = {str(path): path.read_bytes() for path in _own_files(git_dir) | _own_files(common)}
    refs = git(folder, "for-each-ref")
    status = git(
        folder,
        "--no-optional-locks",
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--show-stash",
        "--ignored",
    )
    return files | {"refs": refs, "status": status}


def _own_files(git_dir: Path) -> set[Path]:
    # Our folders are all that is allowed to be new. Objects are those of the user, which tests add
    # to.
    ours = {"objects", "trimpoint", "trimpoint-checkpoints.git", "worktrees", "modules"}
    return {
        path
        for path in git_dir.rglob("*")
        if path.is_file() and path.relative_to(git_dir).parts[0] not in ours
    }


def _content(path: bytes) -> tuple[str, bytes]:
    facts = os.lstat(path)
    if stat.S_ISLNK(facts.st_mode):
        return "link", os.readlink(path)
    if not stat.S_ISREG(facts.st_mode):
        return "special", b""
    with open(path, "rb") as file:
        return ("executable" if facts.st_mode & stat.S_IXUSR else "file"), file.read()
