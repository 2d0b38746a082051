"""A git worktree for conversations that edit files, and its content."""

import os
import subprocess
from pathlib import Path


def git(worktree: Path, *arguments: str, stdin: str = "") -> str:
    """Runs git with a fixed author, and returns its output."""
    command = [
        "git",
        "-c",
        "user.name=Somebody",
        "-c",
        "user.email=somebody@example.org",
        *arguments,
    ]
    return subprocess.run(
        command, cwd=worktree, check=True, capture_output=True, text=True, input=stdin
    ).stdout


def with_repository(worktree: Path) -> None:
    """Makes the worktree a repository with one commit."""
    git(worktree, "init", "-q")
    (worktree / "kept.txt").write_text("from the start\n")
    git(worktree, "add", ".")
    git(worktree, "commit", "-qm", "start")


def worktree_files(worktree: Path) -> dict[str, tuple[str, bytes]]:
    """Returns all files except git's own: for each path its kind, and its bytes or a link's
    target.
    """
    found: dict[str, tuple[str, bytes]] = {}
    for folder, folders, names in os.walk(worktree):
        if ".git" in folders:
            folders.remove(".git")
        for name in (*names, *(name for name in folders if (Path(folder) / name).is_symlink())):
            path = Path(folder) / name
            found[str(path.relative_to(worktree))] = _kind_and_content(path)
    return found


def _kind_and_content(path: Path) -> tuple[str, bytes]:
    if path.is_symlink():
        return "link", os.fsencode(os.readlink(path))
    return ("executable" if os.access(path, os.X_OK) else "file"), path.read_bytes()
