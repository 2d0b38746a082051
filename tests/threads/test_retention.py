"""Retention: only what was archived long ago goes, only as far as it was allowed to, and in doubt
nothing does.
"""

from pathlib import Path

import msgspec
import pytest
from trimpoint.config.sections import RetentionSection
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal import StateDirectory
from trimpoint.threads import loaded_threads
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.retention import DAY_MS, expire
from trimpoint_protocol import commands as wire

from tests.threads.stage import OTHER, THREAD, begin, turn

BEGAN_MS = 1_764_000_000_000
RULE = RetentionSection(archived_after_days=30)


async def archive(registry: ThreadRegistry, thread_id: str) -> None:
    writer = await begin(registry, thread_id)
    writer.record_facts(*turn("T1"))
    await writer.execute(wire.ArchiveThread(command_id="a", thread_id=thread_id))
    writer.record_facts(ev.SessionStopped(1))
    await writer.flush()


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateDirectory:
    """One thread archived on the first day, another used 60 days later."""
    now_ms = BEGAN_MS
    monkeypatch.setattr(loaded_threads.time, "time_ns", lambda: now_ms * 1_000_000)
    directory = StateDirectory(tmp_path)
    async with ThreadRegistry.running(directory, Policy()) as registry:
        await archive(registry, THREAD)
        now_ms += 60 * DAY_MS
        (await begin(registry, OTHER)).record_facts(*turn("T1"))
    return directory


def applied(
    store: StateDirectory, rule: RetentionSection = RULE, *, days: int = 60, dry_run: bool = False
) -> list[tuple[str, str]]:
    return [
        (one.thread_id, one.outcome)
        for one in expire(store, rule, BEGAN_MS + days * DAY_MS, dry_run=dry_run)
    ]


def threads(store: StateDirectory) -> set[str]:
    return {thread_id for thread_id, _ in store.journals()}


async def test_without_a_rule_nothing_goes(store: StateDirectory) -> None:
    assert applied(store, RetentionSection()) == []
    assert applied(StateDirectory(store.root / "empty"), RULE) == []


async def test_a_dry_run_only_says_what_would_go(store: StateDirectory) -> None:
    assert applied(store, dry_run=True) == [(THREAD, "due")]
    assert threads(store) == {THREAD, OTHER}


async def test_an_expired_thread_is_moved_with_all_its_files(
    store: StateDirectory,
) -> None:
    journal = store.journal_path(THREAD)
    content = journal.read_bytes()
    journal.with_name(f"{journal.name}.torn-1").write_bytes(b"torn")
    (store.root / "snapshots").mkdir()
    (store.root / "snapshots" / THREAD).write_bytes(b"derived")
    assert applied(store) == [(THREAD, "moved")]
    assert threads(store) == {OTHER}
    expired = store.root / "expired"
    assert {path.name for path in expired.iterdir()} == {
        journal.name,
        f"{journal.name}.torn-1",
        THREAD,
    }
    assert (expired / journal.name).read_bytes() == content
    assert applied(store) == []
    journal.write_bytes(content)
    assert applied(store) == [(THREAD, "moved")]
    assert (expired / f"{journal.name}.again-1").read_bytes() == content


async def test_an_expired_thread_is_deleted_only_if_the_rule_says_so(store: StateDirectory) -> None:
    assert applied(store, msgspec.structs.replace(RULE, delete=True)) == [(THREAD, "deleted")]
    assert threads(store) == {OTHER}
    assert not (store.root / "expired").exists()


async def test_a_moved_thread_is_forgotten_at_the_next_start_and_comes_back_with_its_file(
    store: StateDirectory,
) -> None:
    applied(store)
    async with ThreadRegistry.running(store, Policy()) as registry:
        assert set(registry.summaries) == {OTHER}
    journal = store.journal_path(THREAD)
    (store.root / "expired" / journal.name).rename(journal)
    async with ThreadRegistry.running(store, Policy()) as registry:
        assert [one.id for one in (await registry.thread(THREAD)).state.turns] == ["T1"]


async def test_a_clock_that_jumps_ahead_makes_nothing_old(store: StateDirectory) -> None:
    assert applied(store, RetentionSection(archived_after_days=61), days=36_500) == []
    assert applied(store, days=0) == []


async def test_a_journal_that_is_not_sound_stays(store: StateDirectory) -> None:
    journal = store.journal_path(THREAD)
    content = bytearray(journal.read_bytes())
    content[40] ^= 1
    journal.write_bytes(content)
    assert applied(store) == [(THREAD, "left")]
    assert threads(store) == {THREAD, OTHER}


async def test_a_journal_that_the_catalogue_does_not_know_as_it_is_stays(
    store: StateDirectory,
) -> None:
    journal = store.journal_path(THREAD)
    journal.write_bytes(journal.read_bytes()[:-1])
    assert applied(store) == [(THREAD, "left")]
    (store.root / "catalogue").unlink()
    assert applied(store) == []


async def test_a_thread_that_came_back_since_the_catalogue_stays(store: StateDirectory) -> None:
    known = (store.root / "catalogue").read_bytes()
    async with ThreadRegistry.running(store, Policy()) as registry:
        await (await registry.thread(THREAD)).execute(
            wire.UnarchiveThread(command_id="u", thread_id=THREAD)
        )
    (store.root / "catalogue").write_bytes(known)
    assert [outcome for _, outcome in applied(store)] == ["left"]


async def test_the_thread_that_new_made_stays_as_long_as_the_one_it_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = BEGAN_MS
    monkeypatch.setattr(loaded_threads.time, "time_ns", lambda: now_ms * 1_000_000)
    store = StateDirectory(tmp_path)
    async with ThreadRegistry.running(store, Policy()) as registry:
        (await begin(registry, THREAD)).record_facts(*turn("turn 1"))
        await registry.dispatch(
            wire.ArchiveAndNew(command_id="n", thread_id=THREAD, new_thread_id=OTHER)
        )
        replacement = await registry.thread(OTHER)
        operation = replacement.state.operation
        assert operation is not None
        replacement.record_facts(
            ev.OperationAdvanced(operation.id, "failed"), ev.ThreadArchived(), ev.SessionStopped(1)
        )
        await replacement.flush()
        now_ms += 60 * DAY_MS
        writer = await registry.thread(THREAD)
        writer.record_facts(ev.ThreadRenamed("still in use"))
        await writer.flush()
    assert applied(store) == []
    assert threads(store) == {THREAD, OTHER}
