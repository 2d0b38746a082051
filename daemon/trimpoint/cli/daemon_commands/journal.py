"""`trimpoint daemon journal`: lists, verifies, repairs and exports the journals on disk.

Always true: only `repair` and `expire` write. They hold the lock of the state directory, so they
never run beside a daemon. Nothing is deleted unless the user asked for exactly that.
"""

import argparse
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.terminal import print_json, print_plain_line, stdout_console
from trimpoint.cli.views import journal_view as view
from trimpoint.core.evolve.evolve import apply
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.state import ThreadState
from trimpoint.journal import StateDirectory
from trimpoint.journal.codec.records import UnreadableRecord
from trimpoint.journal.codec.snapshots import decode_snapshot
from trimpoint.journal.errors import JournalError, JournalWriteError, StateDirectoryBusy
from trimpoint.journal.repair.event_export import exported
from trimpoint.journal.repair.repair import Outcome, RepairResult, repair
from trimpoint.journal.repair.verification import (
    TORN_READ_ATTEMPTS,
    SnapshotState,
    Verified,
    read_settled,
    records_of,
    verify,
)
from trimpoint.journal.storage.directory import snapshot_name
from trimpoint.journal.storage.file_ops import SYSTEM_FILES, free_name
from trimpoint.threads.retention import expire


def run_inspect(arguments: argparse.Namespace) -> int:
    """Shows the journals, damaged or not."""
    store = _store(arguments)
    found = [_verified(store, thread_id) for thread_id in _chosen(store, arguments)]
    if arguments.json:
        print_json({"stateDir": str(store.root), "threads": [_document(one) for one in found]})
    else:
        stdout_console().print(
            view.one(found[0]) if arguments.thread else view.overview(found, store.root)
        )
    return Exit.DONE


def run_verify(arguments: argparse.Namespace) -> int:
    """Reads every byte of the journals; the exit code is 1 if anything is wrong."""
    store = _store(arguments)
    found = [_verified(store, thread_id) for thread_id in _chosen(store, arguments)]
    is_sound = not any(one.problems for one in found)
    if arguments.json:
        print_json(
            {
                "stateDir": str(store.root),
                "sound": is_sound,
                "threads": [_document(one) for one in found],
            }
        )
    else:
        stdout_console().print(view.verdicts(found))
    return Exit.DONE if is_sound else Exit.FAILED


def run_repair(arguments: argparse.Namespace) -> int:
    """Repairs the journals; the exit code is 1 if damage remains, and 3 if there was nothing to
    repair.
    """
    store = _store(arguments)
    with _locked(store):
        done = [
            (thread_id, _repaired(store, thread_id, arguments.salvage))
            for thread_id in _chosen(store, arguments)
        ]
    touched = [(thread_id, one) for thread_id, one in done if one.outcome is not Outcome.SOUND]
    if arguments.json:
        print_json(
            {"stateDir": str(store.root), "repaired": [_repair_document(*one) for one in touched]}
        )
    else:
        stdout_console().print(view.repairs(touched, salvaging=arguments.salvage))
    if any(one.outcome is Outcome.UNREPAIRED for _, one in touched):
        return Exit.FAILED
    return Exit.DONE if touched else Exit.SKIPPED


def run_expire(arguments: argparse.Namespace) -> int:
    """Applies the configuration's retention rule; the exit code is 1 if a thread was kept because
    of doubts, and 3 if no thread matches the rule.
    """
    settings, store = settings_of(arguments), _store(arguments)
    rule = settings.config.retention
    try:
        with nullcontext() if arguments.dry_run else _locked(store):
            done = expire(store, rule, time.time_ns() // 1_000_000, dry_run=arguments.dry_run)
    except OSError as error:
        raise CliError(
            f"{error.filename}: {error.strerror}.",
            "Files that were not moved are still in their places.",
            reason="disk",
        ) from None
    if arguments.json:
        print_json({"stateDir": str(store.root), "expired": msgspec.to_builtins(done)})
    else:
        stdout_console().print(view.expiries(done, is_on=rule.archived_after_days > 0))
    if any(one.outcome == "left" for one in done):
        return Exit.FAILED
    return Exit.DONE if done else Exit.SKIPPED


def run_export(arguments: argparse.Namespace) -> int:
    """Prints the events of the journals as JSON lines; the exit code is 1 if a journal could not be
    read to its end.
    """
    store = _store(arguments)
    code = Exit.DONE
    for thread_id in _chosen(store, arguments):
        if (problem := _export(store, thread_id, private=arguments.private)) is not None:
            print_plain_line(f"trimpoint: {thread_id}: {problem}")
            code = Exit.FAILED
    return code


def _export(store: StateDirectory, thread_id: str, *, private: bool) -> str | None:
    """Prints the events of one journal. Returns why it could not be read to its end, or None."""
    try:
        content = read_settled(store.journal_path(thread_id), TORN_READ_ATTEMPTS)
        state = ThreadState()
        for record in records_of(content):
            apply(state, record)
            for document in exported(state, record, private=private):
                print_json(document)
    except BrokenPipeError:
        raise
    except (OSError, UnreadableRecord) as error:
        return str(error)
    return content.report.reason or None


def _store(arguments: argparse.Namespace) -> StateDirectory:
    store = StateDirectory(settings_of(arguments).state_dir)
    if not store.root.is_dir():
        raise CliError(
            f"{store.root}: there is no such state directory.",
            "Name one with --state-dir.",
            reason="no_state_dir",
        )
    return store


def _chosen(store: StateDirectory, arguments: argparse.Namespace) -> list[str]:
    """Returns the ids of all threads, or of the one that `--thread` names by its id or by the
    beginning or end of its id.
    """
    ids, wanted = [thread_id for thread_id, _ in store.journals()], arguments.thread
    if wanted is None:
        return ids
    matching = [one for one in ids if one == wanted] or [
        one for one in ids if one.startswith(wanted) or one.endswith(wanted)
    ]
    if len(matching) != 1:
        problem = f"could be {len(matching)} threads" if matching else "is not a thread"
        raise CliError(
            f"{wanted!r} {problem} of {store.root}.",
            "See `trimpoint daemon journal inspect`.",
            reason="thread_not_found",
        )
    return matching


@contextmanager
def _locked(store: StateDirectory) -> Generator[None]:
    try:
        lock = store.lock()
    except StateDirectoryBusy as busy:
        raise CliError(
            f"{busy}.",
            "Stop the daemon first: trimpoint daemon shutdown.",
            reason="state_directory_busy",
        ) from None
    except OSError as error:
        raise CliError(
            f"{store.root}: {error.strerror}.",
            "It must be writable to be repaired.",
            reason="state_dir_unusable",
        ) from None
    with lock:
        yield


def _verified(store: StateDirectory, thread_id: str) -> Verified:
    return verify(store, thread_id, is_live=store.holder() is not None)


def _repaired(store: StateDirectory, thread_id: str, salvage: bool) -> RepairResult:
    name = snapshot_name(thread_id)
    try:
        snapshot = decode_snapshot(store.read(name), thread_id)
        mended = repair(store.journal_path(thread_id), salvage=salvage, snapshot=snapshot)
        if mended.outcome is Outcome.SOUND and snapshot is not None:
            return _without_false_snapshot(store, thread_id)
    except (JournalError, OSError) as error:
        return RepairResult(Outcome.UNREPAIRED, _error_text(error))
    return mended


def _without_false_snapshot(store: StateDirectory, thread_id: str) -> RepairResult:
    if verify(store, thread_id).snapshot is not SnapshotState.DIFFERS:
        return RepairResult(Outcome.SOUND)
    path = store.root / snapshot_name(thread_id)
    kept_at = free_name(SYSTEM_FILES, path, "differs")
    SYSTEM_FILES.replace(path, kept_at)
    return RepairResult(Outcome.CUT, "the snapshot did not match the journal", kept_at)


def _error_text(error: Exception) -> str:
    return (
        str(error)
        if isinstance(error, JournalWriteError) or not isinstance(error, OSError)
        else str(error.strerror)
    )


def _document(found: Verified) -> dict[str, Any]:
    report = found.report
    return {
        "threadId": found.thread_id,
        "path": str(found.path),
        "sizeBytes": found.size_bytes,
        "format": report.version if report is not None else None,
        "damage": report.damage.value if report is not None else None,
        "damagedAtByte": report.end.offset_bytes
        if report is not None and report.damaged_bytes
        else None,
        "damagedBytes": report.damaged_bytes if report is not None else 0,
        "records": found.records,
        "events": found.events,
        "gaps": found.gaps,
        "firstAt": _time(found.first_at_ms),
        "lastAt": _time(found.last_at_ms),
        "turns": len(found.state.turns),
        "trimPoints": len(found.state.trim_points),
        "generation": len(found.state.generations),
        "name": found.state.name,
        "archived": found.state.archived,
        "snapshot": found.snapshot.value,
        "snapshotRecords": found.snapshot_records,
        "problems": msgspec.to_builtins(found.problems),
    }


def _repair_document(thread_id: str, mended: RepairResult) -> dict[str, Any]:
    kept_at: Path | None = mended.kept_at
    return {
        "threadId": thread_id,
        "outcome": mended.outcome.value,
        "detail": mended.detail,
        "keptAt": None if kept_at is None else str(kept_at),
        "salvagedRecords": mended.salvaged,
        "refusedRecords": mended.refused,
    }


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
