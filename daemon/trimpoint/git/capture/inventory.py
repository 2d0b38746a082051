"""Lists the checkpoints in the repositories of given folders."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from trimpoint.git.capture.refs import KeptRef, list_refs
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.repository import Repository, discover


class RepositoryCheckpoints(NamedTuple):
    """A repository, given by one of its work trees, and the refs of all its checkpoints."""

    repository: Repository
    refs: list[KeptRef]


async def kept_below(folders: Iterable[str]) -> list[RepositoryCheckpoints]:
    """Returns the checkpoints of each repository that one of `folders` is in. Folders outside of
    any repository, or that git refuses, are skipped.

    :raises GitFailed: when git failed on a repository that it had found
    """
    repositories: dict[Path, Repository] = {}
    for folder in sorted(set(folders)):
        found = await _found(folder)
        if found is not None:
            repositories.setdefault(found.common_dir, found)
    return [
        RepositoryCheckpoints(repository, await list_refs(repository))
        for repository in repositories.values()
    ]


async def _found(folder: str) -> Repository | None:
    try:
        found = await discover(Path(folder))
    except GitError:
        return None
    return found if isinstance(found, Repository) else None
