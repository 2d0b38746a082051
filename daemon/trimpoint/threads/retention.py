"""Removes threads that were archived long ago, if a rule is configured (docs/spec/journal.md).
Blocking; requires the lock of the state directory.

A thread is kept in case of doubt. It is removed only if the catalogue matches its journal, the
journal is undamaged and says that the thread is archived and finished, and no remaining thread
refers to it. Its age is computed against the last change of any thread, not only the clock, so that
a clock that jumps ahead expires nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimpoint.config.sections import RetentionSection
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.repair.verification import verify
from trimpoint.journal.storage.directory import StateDirectory, snapshot_name
from trimpoint.journal.storage.file_ops import DIRECTORY_MODE, SYSTEM_FILES, free_name
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, decode_catalogue, is_unfinished

FOLDER = "expired"
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Expired:
    """A thread that the rule applies to. `outcome`: due (in a dry run) | moved | deleted | left;
    `detail` then says where it was moved to, or why it was left.
    """

    thread_id: str
    updated_at_ms: int
    outcome: str
    detail: str = ""


def expire(
    store: StateDirectory, rule: RetentionSection, now_ms: int, *, dry_run: bool = False
) -> list[Expired]:
    """Applies the retention rule. Returns the threads that it applies to with their outcomes,
    oldest first.

    :raises OSError: when the disk refused; threads that were not moved yet are unchanged.
    """
    sizes = dict(store.journals())
    known = decode_catalogue(store.read(FILE_NAME))
    present = [summary for summary in known.values() if summary.thread_id in sizes]
    return [_apply(store, rule, one, sizes, dry_run=dry_run) for one in _due(present, rule, now_ms)]


def _due(
    summaries: list[ThreadSummary], rule: RetentionSection, now_ms: int
) -> list[ThreadSummary]:
    if rule.archived_after_days <= 0 or not summaries:
        return []
    newest_ms = min(now_ms, max(summary.updated_at_ms for summary in summaries))
    before_ms = newest_ms - rule.archived_after_days * DAY_MS
    due = {
        one.thread_id: one
        for one in summaries
        if one.archived and not one.unfinished and one.updated_at_ms < before_ms
    }
    # If the old thread of a /new or /handoff stays, its new thread would be created again, so it
    # stays too.
    while held := [
        new_id
        for one in summaries
        if one.thread_id not in due
        for new_id in one.successor_ids
        if new_id in due
    ]:
        for thread_id in held:
            due.pop(thread_id, None)
    return sorted(due.values(), key=lambda one: one.updated_at_ms)


def _apply(
    store: StateDirectory,
    rule: RetentionSection,
    summary: ThreadSummary,
    sizes: dict[str, int],
    *,
    dry_run: bool,
) -> Expired:
    doubt = (
        "its size is not the one in the catalogue"
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
    return "" if _is_done(found.state, summary) else "its journal does not match the catalogue"


def _is_done(state: ThreadState, summary: ThreadSummary) -> bool:
    return (
        state.archived and not is_unfinished(state) and state.updated_at_ms == summary.updated_at_ms
    )


def _files_of(store: StateDirectory, thread_id: str) -> list[Path]:
    """Returns the thread's files: first those derived from the journal, then the journal, because
    the thread exists for as long as its journal.
    """
    journal = store.journal_path(thread_id)
    beside = sorted(
        path for path in journal.parent.iterdir() if path.name.startswith(f"{journal.name}.")
    )
    snapshot = store.root / snapshot_name(thread_id)
    return [*([snapshot] if snapshot.exists() else []), *beside, journal]


def _moved(folder: Path, files: list[Path]) -> Path:
    """Moves the files to `folder` and returns the new path of the last one."""
    folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    target = folder
    for path in files:
        target = folder / path.name
        target = free_name(SYSTEM_FILES, target, "again") if target.exists() else target
        SYSTEM_FILES.replace(path, target)
        SYSTEM_FILES.sync_directory(folder)
        SYSTEM_FILES.sync_directory(path.parent)
    return target
