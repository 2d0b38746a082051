"""The store: a repository of the daemon's own beside the user's, in which checkpoints are kept.

The daemon makes no ref in the user's repository, so that none appears in `git log --all` or is
pushed by `push --mirror`. Every object that a kept checkpoint needs is copied to the store, so that
the user's `git gc` cannot delete it.

    <common git dir>/trimpoint-checkpoints.git/
        objects           the contents of checkpoints
        objects/info/alternates
                          names the user's objects while some are still needed (see `upkeep`)
        refs/trimpoint/   checkpoints/<thread>/<name>, and newest/<worktree>: the commit that has
                          all that the index of a worktree refers to
        lock              shared while writing, exclusive while objects are removed

Checkpoints of older versions have their refs and objects in the user's repository. They are read
there until `upkeep` has moved them to the store.
"""

import os
import re
from pathlib import Path

import anyio

from trimpoint.atomic_files import replace_file
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.own_folders import claim_folders, is_folder
from trimpoint.git.plumbing.process import GitRun, git_answer
from trimpoint.git.plumbing.repository import Repository

PREFIX = "refs/trimpoint/checkpoints/"
NEWEST = "refs/trimpoint/newest/"

_FOLDERS = (
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/trimpoint",
    PREFIX.rstrip("/"),
    NEWEST.rstrip("/"),
)
_READABLE_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}|ref: refs/\S+)\n")


def make_store(repository: Repository) -> None:
    """Creates the store if needed, and makes sure that it is private, leads nowhere else, and has
    the settings that it should have. Called before each use: whoever can write to the git
    directory could have changed it meanwhile.

    :raises OSError: when it cannot be written or is not our own, or the git directory does not
        exist any more
    """
    store = repository.store_dir
    claim_folders(store, _FOLDERS)
    hide(store)
    replace_if_other(store / "config", _config_of(repository))
    ensure_head(store)


def hide(folder: Path) -> None:
    """Keeps our files out of the lists of those programs that look into `.git`, too: Codex's
    terminal UI offers them where a file is to be mentioned (measured: 0.171).

    :raises OSError: when it cannot be written
    """
    replace_if_other(folder / ".ignore", b"*\n")


def own_git_dir(folder: Path) -> dict[str, str]:
    """Returns the environment variables for a run in a git directory of our own: no settings but
    its own and those of the command line apply, and no file in it names another directory.
    """
    return {
        "GIT_DIR": str(folder),
        "GIT_COMMON_DIR": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def ensure_head(folder: Path) -> None:
    """Makes a HEAD that names no commit, unless there is one that git can read. Without one the
    folder is no repository to git. A power failure can leave it empty.

    :raises OSError: when it cannot be written
    """
    head = folder / "HEAD"
    if not head.exists() or not _READABLE_HEAD.fullmatch(head.read_bytes()):
        replace_file(head, b"ref: refs/heads/none\n")


def _config_of(repository: Repository) -> bytes:
    """Returns the configuration of the store: only the object format."""
    is_sha256 = repository.hash_name == "sha256"
    core = f"[core]\n\trepositoryformatversion = {1 if is_sha256 else 0}\n"
    extension = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    core += "\tbare = true\n"
    return f"{core}{extension}".encode()


async def store_answer(
    repository: Repository,
    *arguments: str,
    doing: str,
    stdin: bytes = b"",
    deadline_s: float = 60.0,
    reads_users: bool = False,
) -> bytes:
    """Runs git on the store and returns its stdout. With `reads_users`, it can read the user's
    objects too, for checkpoints of older versions.

    :raises GitFailed: when git failed, or the store is not our own
    """
    borrowed = (
        {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(repository.objects_dir)} if reads_users else {}
    )
    run = GitRun(
        git=repository.git,
        arguments=arguments,
        doing=doing,
        cwd=repository.common_dir,
        variables=own_git_dir(repository.store_dir) | borrowed,
        stdin=stdin,
        deadline_s=deadline_s,
        is_private=True,
    )
    try:
        await anyio.to_thread.run_sync(make_store, repository)
    except OSError as error:
        raise unusable(error, repository.store_dir) from error
    return await git_answer(run)


def unusable(error: OSError, folder: Path) -> GitFailed:
    """Returns an error of a folder of ours as one for a person."""
    return GitFailed(
        "keep checkpoints", f"{error.filename or folder} cannot be used ({error.strerror})"
    )


def with_our_objects(repository: Repository) -> dict[str, str]:
    """Returns the environment variables for a run on the user's repository that must also find the
    store's objects.
    """
    objects, more = repository.store_objects, alternates(repository)
    # Git would wait for a pipe.
    is_usable = is_folder(objects) and (more.is_file() or not os.path.lexists(more))
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects)} if is_usable else {}


def borrow(repository: Repository) -> None:
    """Makes the store find the user's objects until `upkeep` has copied those that it needs.

    :raises OSError: when the file cannot be written
    """
    replace_if_other(alternates(repository), os.fsencode(f"{_alternate(repository.objects_dir)}\n"))


def alternates(repository: Repository) -> Path:
    """Returns the path of the file that names the object folders the store borrows from. The file
    does not exist if none are needed.
    """
    return repository.store_objects / "info" / "alternates"


def set_newest(repository: Repository, commit: str) -> None:
    """Sets the ref that keeps the objects of this worktree's index from being deleted; `commit` has
    all of them.

    :raises OSError: when the ref cannot be written
    """
    path = repository.store_dir / newest_ref(repository.common_dir, repository.git_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Git refuses to pack or to remove anything while a ref is damaged.
    replace_if_other(path, f"{commit}\n".encode(), synced=True)


def newest_ref(common_dir: Path, git_dir: Path) -> str:
    """Returns the ref that `set_newest` sets for a worktree."""
    return f"{NEWEST}{'main' if git_dir == common_dir else f'worktree-{ref_part(git_dir.name)}'}"


def ref_part(text: str) -> str:
    """Returns `text` with all characters replaced by `_` that git may not allow in refs."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text) or "_"


def replace_if_other(path: Path, content: bytes, *, synced: bool = False) -> None:
    """Replaces a small file, as `replace_file` does, unless it has this content already.

    :raises OSError: when it cannot be written
    """
    # Older versions made `info/exclude` a link to the user's own file.
    if path.is_symlink() or not path.exists() or path.read_bytes() != content:
        replace_file(path, content, synced=synced)


def _quoted(path: Path) -> str:
    # Colons separate the paths in the variable, so each path is quoted.
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _alternate(path: Path) -> str:
    # In the file only a leading `#`, a leading quote and newlines have a special meaning.
    text = str(path)
    return _quoted(path) if text[:1] in ('"', "#") or "\n" in text else text
