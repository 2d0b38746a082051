"""Decides whether a `.git` makes a repository, by git's own rule, and which branch is checked out.
Imports little: the command line asks at each start.
"""

import os
import re
from collections.abc import Iterator

_HEAD = re.compile(rb"ref: *refs/|[0-9a-f]{40}")
_READ_BYTES = 4096
_BRANCH, _GIT_DIR = b"ref: refs/heads/", b"gitdir: "


def is_repository(dot_git: str | bytes) -> bool:
    """Returns whether git takes the folder, or the file that names one, for a repository. It does
    not take an empty folder, as a killed sandbox of Codex leaves behind.
    """
    path = os.fsdecode(dot_git)
    if os.path.isfile(path):
        return _begin_of(path).startswith(_GIT_DIR)
    head = os.path.join(path, "HEAD")
    if os.path.islink(head):
        is_head = os.readlink(head).startswith("refs/")
    else:
        is_head = _HEAD.match(_begin_of(head)) is not None
    return is_head and all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))


def branch_of(folder: str) -> str | None:
    """Returns the branch that is checked out where the folder is, or None outside of a repository
    and where a commit is checked out.
    """
    for place in folders_to_look_in(os.path.realpath(folder)):
        dot_git = os.path.join(place, ".git")
        if is_repository(dot_git):
            # Empty for a folder, which cannot be read.
            named = os.fsdecode(_begin_of(dot_git).removeprefix(_GIT_DIR).strip())
            head = _begin_of(os.path.join(place, named or ".git", "HEAD")).strip()
            if not head.startswith(_BRANCH):
                return None
            return head.removeprefix(_BRANCH).decode(errors="replace")
    return None


def folders_to_look_in(folder: str) -> Iterator[str]:
    """Yields a folder, whose links are resolved, and those above it up to where
    `GIT_CEILING_DIRECTORIES` ends git's search.
    """
    ceilings = {os.path.realpath(one) for one in _ceilings()}
    yield folder
    while (parent := os.path.dirname(folder)) != folder and parent not in ceilings:
        folder = parent
        yield folder


def _ceilings() -> list[str]:
    named = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    return [one for one in named if os.path.isabs(one)]


def _begin_of(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, _READ_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)
