"""`/new` writes two journals: once the first is durable the second is begun, however long the disk
refuses it.
"""

import anyio
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import AdvanceOperation
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.threads import replacements
from trimpoint.threads.errors import CommandRefused, JournalRefuses, ReplacementDelayed
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol.commands import AcceptDraft, ArchiveAndNew, DraftHandoff

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, published, turn

NEW = "01900000-0000-7000-8000-00000000000a"
COMMAND = ArchiveAndNew(command_id="new", thread_id=THREAD, new_thread_id=NEW)


@pytest.fixture
def disk() -> Disk:
    return Disk()


async def begin_used(registry: ThreadRegistry, thread_id: str = THREAD) -> ThreadWriter:
    """Begins a thread with a turn: an empty one is not replaced."""
    writer = await begin(registry, thread_id)
    writer.record_facts(*turn("turn 1"))
    await writer.flush()
    return writer


async def left_half_done(disk: Disk) -> None:
    """An archived thread whose replacement the disk did not take."""
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await begin_used(registry)
        disk.fill(NEW)
        await registry.dispatch(COMMAND)
        writer.record_facts(
            ev.SessionStopped(1)
        )  # nothing is left to do, so that the catalogue is believed


async def test_the_command_is_carried_out_though_the_second_journal_is_refused(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin_used(registry)
        disk.fill(NEW)
        result = await registry.dispatch(COMMAND)
        assert any(isinstance(event, ev.ArchivedAndNewCreated) for event in result.record.events)
        assert disk.written().archived
        with pytest.raises(ReplacementDelayed) as delayed:
            await registry.thread(NEW)
        assert NEW in str(delayed.value)
        assert await registry.dispatch(COMMAND) == result


async def test_the_second_journal_is_begun_as_soon_as_the_disk_takes_it(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacements, "RETRY_REPLACEMENT_S", 0)
    tried_again = anyio.Event()
    with anyio.fail_after(STEP_S):
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            await begin_used(registry)
            disk.fill(NEW)
            await registry.dispatch(COMMAND)
            disk.on_refusal = tried_again.set
            await tried_again.wait()
            with published(registry, ev.ThreadCreated, NEW) as durable:
                disk.free()
                await durable.wait()
            assert (await registry.thread(NEW)).state.parent_thread_id == THREAD
    assert disk.written(NEW).id == NEW


async def test_opening_the_promised_thread_begins_it(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin_used(registry)
        disk.fill(NEW)
        await registry.dispatch(COMMAND)
        disk.free()
        assert (await registry.thread(NEW)).state.id == NEW


async def test_a_refusal_of_the_first_journal_refuses_the_command(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin_used(registry)
        disk.fill()
        with pytest.raises(JournalRefuses):
            await registry.dispatch(COMMAND)
        disk.free()
        assert not disk.written().archived
        assert NEW not in disk.records


async def test_a_promised_thread_id_is_given_to_no_other_thread(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin_used(registry)
        await begin_used(registry, OTHER)
        disk.fill(NEW)
        await registry.dispatch(COMMAND)
        with pytest.raises(CommandRefused):
            await registry.dispatch(
                ArchiveAndNew(command_id="other", thread_id=OTHER, new_thread_id=NEW)
            )


@pytest.mark.parametrize("thread_id", [NEW, None])
async def test_the_daemon_starts_while_the_disk_refuses_the_second_journal(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, thread_id: str | None
) -> None:
    monkeypatch.setattr(replacements, "RETRY_REPLACEMENT_S", 0)
    await left_half_done(disk)
    disk.fill(thread_id)
    with anyio.fail_after(STEP_S):
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            with published(registry, ev.ThreadCreated, NEW) as durable:
                disk.free()
                await durable.wait()


async def test_the_daemon_starts_when_the_archived_thread_itself_cannot_be_opened(
    disk: Disk,
) -> None:
    await left_half_done(disk)
    store = Store(disk)
    store.unopenable = THREAD
    async with ThreadRegistry.running(store, Policy()) as registry:
        assert THREAD in registry.summaries


async def test_the_daemon_starts_when_the_archived_thread_is_damaged_before_its_end(
    disk: Disk,
) -> None:
    await left_half_done(disk)
    disk.free()
    disk.damaged[THREAD] = 1
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        assert registry.summaries.keys() == {THREAD}


async def test_a_refused_beginning_leaves_nothing_that_could_cut_the_next_one(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        disk.records[THREAD] = []  # the file is there, so that only the record is refused
        disk.fill()
        with pytest.raises(JournalRefuses):
            await begin_used(registry)
        assert registry.loaded(THREAD) is None
        disk.free()
        await begin_used(registry)
    assert disk.written().id == THREAD


async def test_a_handoff_that_was_recorded_is_begun_by_the_next_daemon(disk: Disk) -> None:
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await begin_used(registry)
        asked = await registry.dispatch(DraftHandoff(command_id="draft", thread_id=THREAD))
        operation_id = str(asked.operation_id)
        await writer.execute(AdvanceOperation(operation_id, Phase.COMPACTING))
        written = ev.DraftWritten(THREAD, operation_id, "Go on.", 1)
        await writer.execute(AdvanceOperation(operation_id, Phase.READY, facts=(written,)))
        taken = await writer.execute(AcceptDraft(command_id="accept", thread_id=THREAD))
        [handed] = taken.record.events
        assert isinstance(handed, ev.HandedOff)
        new_id = handed.new_thread_id
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        new = (await registry.thread(new_id)).state
        assert [one.parts[0]["text"] for one in new.queue] == ["Go on."]
        assert new.parent_thread_id == THREAD
        assert not (await registry.thread(THREAD)).state.archived
