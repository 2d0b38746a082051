"""Removes threads that were archived long ago, when a rule says so (docs/spec/journal.md).
Blocking; needs the lock.

Always true: in doubt a thread stays. It goes only if the catalogue knows its journal as it is, the
journal reads soundly to its end and says itself that the thread is archived and done, and no thread
that stays refers to it. Its age is counted up to the last thing that happened in the directory, not
to now: a clock that jumps ahead makes nothing old.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trimpoint.core.model.state import ThreadState
from trimpoint.journal.repair.verification import verify
from trimpoint.journal.storage.directory import StateDirectory, snapshot_name
from trimpoint.journal.storage.file_ops import DIRECTORY_MODE, SYSTEM_FILES, free_name
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, decode_catalogue, is_unfinished

FOLDER = "expired"
DAY_MS = 24 * 60 * 60 * 1000


class RetentionRule(NamedTuple):
    """`archived_after_days`: 0 keeps everything. `delete`: do not even keep the journal in the
    `expired` folder.
    """

    archived_after_days: int = 0
    delete: bool = False


@dataclass(frozen=True, slots=True)
class Expired:
    """A thread that the rule names. `outcome`: due (a dry run) | moved | deleted | left, and then
    `detail` says why.
    """

    thread_id: str
    updated_at_ms: int
    outcome: str
    detail: str = ""


def expire(
    store: StateDirectory, rule: RetentionRule, now_ms: int, *, dry_run: bool = False
) -> list[Expired]:
    """Apply the rule: what happened to each thread that it names, oldest first.

    :raises OSError: the disk refused; what was not moved by then is where it was.
    """
    sizes = dict(store.journals())
    known = decode_catalogue(store.read(FILE_NAME))
    present = [summary for summary in known.values() if summary.thread_id in sizes]
    return [_apply(store, rule, one, sizes, dry_run=dry_run) for one in _due(present, rule, now_ms)]


def _due(summaries: list[ThreadSummary], rule: RetentionRule, now_ms: int) -> list[ThreadSummary]:
    if rule.archived_after_days <= 0 or not summaries:
        return []
    newest_ms = min(now_ms, max(summary.updated_at_ms for summary in summaries))
    before_ms = newest_ms - rule.archived_after_days * DAY_MS
    due = {
        one.thread_id: one
        for one in summaries
        if one.archived and not one.unfinished and one.updated_at_ms < before_ms
    }
    # A thread that /new made for one that stays would be made again; and so on up the line.
    while held := [
        one.new_thread_id
        for one in summaries
        if one.thread_id not in due and one.new_thread_id in due
    ]:
        for thread_id in held:
            due.pop(str(thread_id), None)
    return sorted(due.values(), key=lambda one: one.updated_at_ms)


def _apply(
    store: StateDirectory,
    rule: RetentionRule,
    summary: ThreadSummary,
    sizes: dict[str, int],
    *,
    dry_run: bool,
) -> Expired:
    doubt = (
        "the catalogue does not know it as it is"
        if summary.size_bytes != sizes[summary.thread_id]
        else _reason_to_keep(store, summary)
    )
    if doubt:
        return Expired(summary.thread_id, summary.updated_at_ms, "left", doubt)
    if dry_run:
        return Expired(summary.thread_id, summary.updated_at_ms, "due")
    files = _files_of(store, summary.thread_id)
    if rule.delete:
        for path in files:
            path.unlink()
        return Expired(summary.thread_id, summary.updated_at_ms, "deleted")
    return Expired(
        summary.thread_id, summary.updated_at_ms, "moved", str(_moved(store.root / FOLDER, files))
    )


def _reason_to_keep(store: StateDirectory, summary: ThreadSummary) -> str:
    found = verify(store, summary.thread_id)
    if found.problems:
        return found.problems[0].detail
    return (
        ""
        if _is_done(found.state, summary)
        else "its journal tells something else than the catalogue"
    )


def _is_done(state: ThreadState, summary: ThreadSummary) -> bool:
    return (
        state.archived and not is_unfinished(state) and state.updated_at_ms == summary.updated_at_ms
    )


def _files_of(store: StateDirectory, thread_id: str) -> list[Path]:
    """Returns the files that are derived from the journal, then the journal: while it exists, the
    thread does.
    """
    journal = store.journal_path(thread_id)
    beside = sorted(
        path for path in journal.parent.iterdir() if path.name.startswith(f"{journal.name}.")
    )
    snapshot = store.root / snapshot_name(thread_id)
    return [*([snapshot] if snapshot.exists() else []), *beside, journal]


def _moved(folder: Path, files: list[Path]) -> Path:
    """Returns where the last of `files` is now; a snapshot goes under its own name, as everything
    does.
    """
    folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    target = folder
    for path in files:
        target = folder / path.name
        target = free_name(SYSTEM_FILES, target, "again") if target.exists() else target
        SYSTEM_FILES.replace(path, target)
        SYSTEM_FILES.sync_directory(folder)
        SYSTEM_FILES.sync_directory(path.parent)
    return target
