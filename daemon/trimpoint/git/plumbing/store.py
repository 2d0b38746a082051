"""The repository of ours beside the user's, in which checkpoints are kept.

What must always be true: no ref of ours is in the user's repository, so that none shows in `git log
--all` or travels with `push --mirror`; and every object that a kept checkpoint needs ends up in
here, so that no `git gc` of the user's takes it away.

    <common git dir>/trimpoint-checkpoints.git/
        objects           the contents of checkpoints
        objects/info/alternates
                          names the user's objects for as long as some are needed from there (see
                          `upkeep`)
        refs/trimpoint/   checkpoints/<thread>/<name>, and newest/<worktree>: what the index of a
        worktree refers to lock              shared by all who write in here, exclusive while
        something is removed

Checkpoints of earlier versions have their refs and objects in the user's repository. They are read
there until `upkeep` has taken them over.
"""

import re
from pathlib import Path

from trimpoint.git.plumbing.process import GitRun
from trimpoint.git.plumbing.repository import Repository

PREFIX = "refs/trimpoint/checkpoints/"
NEWEST = "refs/trimpoint/newest/"

_PRIVATE = 0o700


def make_store(repository: Repository) -> None:
    """Make the repository whole. Nothing in it is for other users of the machine.

    :raises OSError: it cannot be written, or there is no git directory any more
    """
    store = repository.store_dir
    store.mkdir(mode=_PRIVATE, exist_ok=True)
    for folder in ("objects", "objects/info", "objects/pack", "refs"):
        (store / folder).mkdir(exist_ok=True)
    write_if_other(store / "config", config_of(repository, bare=True))
    if not (store / "HEAD").exists():
        (store / "HEAD").write_text("ref: refs/heads/none\n")


def config_of(repository: Repository, *, bare: bool) -> str:
    """Returns the configuration of a git directory of ours: the object format, and nothing else."""
    is_sha256 = repository.hash_name == "sha256"
    version = f"\trepositoryformatversion = {1 if is_sha256 else 0}\n"
    extension = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    return (
        f"[core]\n{version}\tbare = true\n{extension}" if bare else f"[core]\n{version}{extension}"
    )


def store_run(
    repository: Repository,
    *arguments: str,
    doing: str,
    stdin: bytes = b"",
    deadline_s: float = 60.0,
    reads_users: bool = False,
    may_fail: bool = False,
) -> GitRun:
    """Runs git on the store. `reads_users`: with the user's objects at hand, for checkpoints of
    earlier versions.
    """
    borrowed = (
        {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(repository.objects_dir)} if reads_users else {}
    )
    return GitRun(
        git=repository.git,
        arguments=arguments,
        doing=doing,
        cwd=repository.common_dir,
        variables={"GIT_DIR": str(repository.store_dir), **borrowed},
        stdin=stdin,
        deadline_s=deadline_s,
        may_fail=may_fail,
    )


def with_our_objects(repository: Repository) -> dict[str, str]:
    """Variables for a run on the user's repository that is to find our objects too."""
    objects = repository.store_objects
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects)} if objects.is_dir() else {}


def borrow(repository: Repository) -> None:
    """Have the store find the user's objects until `upkeep` has copied the ones that it needs.

    :raises OSError: it cannot be written
    """
    write_if_other(alternates(repository), f"{_alternate(repository.objects_dir)}\n")


def alternates(repository: Repository) -> Path:
    """Returns the file that says where the store finds objects of others; it is not there when it
    needs none.
    """
    return repository.store_objects / "info" / "alternates"


def set_newest(repository: Repository, commit: str) -> None:
    """Note which commit holds all that the index of this worktree refers to, so that it is not
    removed.

    :raises OSError: it cannot be written
    """
    path = repository.store_dir / newest_ref(repository.common_dir, repository.git_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A dot at the front: no ref is called so.
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(f"{commit}\n")
    fresh.replace(path)


def newest_ref(common_dir: Path, git_dir: Path) -> str:
    """Returns the ref of `set_newest` for a worktree."""
    return f"{NEWEST}{'main' if git_dir == common_dir else f'worktree-{ref_part(git_dir.name)}'}"


def ref_part(text: str) -> str:
    """Returns the text with all replaced that git may not take in the name of a ref."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text) or "_"


def write_if_other(path: Path, text: str) -> None:
    """Write a small file unless it has this text.

    :raises OSError: it cannot be written
    """
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _quoted(path: Path) -> str:
    # In the variable a colon separates paths, so each is written in quotes.
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _alternate(path: Path) -> str:
    # In the file only a comment, a quote at the beginning and a newline mean something else.
    text = str(path)
    return _quoted(path) if text[:1] in ('"', "#") or "\n" in text else text
