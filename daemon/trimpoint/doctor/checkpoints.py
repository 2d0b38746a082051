"""Checks the checkpoints: how many there are in the repositories of threads, and how much disk
space only they use.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trimpoint import event_loop
from trimpoint.doctor.findings import Finding, Installation, ok, warn
from trimpoint.git.capture.inventory import RepositoryCheckpoints, kept_below
from trimpoint.git.capture.refs import refs_disk_bytes, thread_part
from trimpoint.git.errors import GitError
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.threads.catalogue import FILE_NAME, decode_catalogue

_MIB = 1024 * 1024
_PRUNE_HINT = (
    "List them: trimpoint checkpoints --storage. Delete them: trimpoint checkpoints --prune"
)


class _Measured(NamedTuple):
    """The checkpoints of a repository and their size in bytes, or None if git does not report the
    size.
    """

    kept: RepositoryCheckpoints
    disk_bytes: int | None


def check(installation: Installation) -> Iterator[Finding]:
    """Yields a finding for each repository with checkpoints, or one that there are none."""
    store = StateDirectory(installation.state_dir)
    listed = decode_catalogue(store.read(FILE_NAME))
    known = {
        thread_part(thread_id)
        for thread_id in (*listed, *(thread_id for thread_id, _ in store.journals()))
    }
    try:
        measured = event_loop.run(_measure, {summary.cwd for summary in listed.values()})
    except GitError as error:
        yield warn(
            "not counted",
            f"could not be counted: {error}",
            error.hint or "Look at the repository with git fsck.",
        )
        return
    for one in measured:
        yield _finding(one, known)
    if not measured:
        yield ok("none yet", refs=0)


async def _measure(folders: Iterable[str]) -> list[_Measured]:
    return [
        _Measured(kept, await _disk_bytes(kept)) for kept in await kept_below(folders) if kept.refs
    ]


async def _disk_bytes(kept: RepositoryCheckpoints) -> int | None:
    try:
        return await refs_disk_bytes(kept.repository)
    except GitError:
        return None


def _finding(measured: _Measured, known: set[str]) -> Finding:
    kept, size = measured.kept, measured.disk_bytes
    stray = sum(ref.thread not in known for ref in kept.refs)
    where = str(kept.repository.worktree)
    text = (
        f"{where}: {len(kept.refs)}, {'size unknown' if size is None else f'{size / _MIB:.1f} MiB'}"
    )
    facts = {"repository": where, "refs": len(kept.refs), "stray": stray, "diskBytes": size}
    if stray:
        return Finding(
            "ok", f"{text}; {stray} of threads that are not in the books", _PRUNE_HINT, facts
        )
    return ok(text, **facts)
