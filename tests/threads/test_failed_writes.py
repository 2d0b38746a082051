"""A disk that refuses for a while: what was heard outlives it, in order, and nothing is decided
without it.
"""

from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.threads.errors import CommandRefused, JournalRefuses
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing import flushing
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, published, turn


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(disk: Disk) -> Store:
    return Store(disk)


@pytest.fixture
async def registry(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ThreadRegistry]:
    """One that leaves it to the test when a failed write is tried again."""
    monkeypatch.setattr(flushing, "RETRY_PAUSES_S", (3600,))
    with anyio.fail_after(STEP_S):
        async with ThreadRegistry.running(store, Policy()) as registry:
            yield registry


@pytest.fixture
async def writer(registry: ThreadRegistry) -> ThreadWriter:
    return await begin(registry)


async def lose(writer: ThreadWriter) -> None:
    with pytest.raises(JournalRefuses):
        await writer.flush()


async def test_facts_received_while_the_journal_is_read_again_follow_the_lost_ones(
    writer: ThreadWriter, store: Store, disk: Disk
) -> None:
    disk.fill_once()
    writer.record_facts(ev.TurnStarted("T1", 1))
    hold = store.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lose, writer)
        await hold.reached.wait()
        writer.record_facts(ev.EntryRecorded("T1", "m1", "message", "user", "hello"))
        hold.release.set()
    await writer.flush()
    assert [entry.id for entry in disk.written().entries] == ["m1"]
    assert disk.written() == writer.state


async def test_no_command_is_decided_while_the_journal_is_read_again(
    writer: ThreadWriter, store: Store, disk: Disk
) -> None:
    disk.fill()
    writer.record_facts(*turn("T1"))
    await lose(writer)
    disk.free()
    hold = store.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.flush)
        await hold.reached.wait()
        with pytest.raises(JournalRefuses):
            writer.submit(wire.TrimContext(command_id="c", thread_id=THREAD))
        hold.release.set()
    assert "c" not in disk.written().receipts


async def test_settling_waits_for_what_the_disk_refused_before(
    writer: ThreadWriter, disk: Disk
) -> None:
    disk.fill()
    await lose_facts(writer, ev.TurnRequested("R"))
    await lose(writer)
    disk.free()
    await writer.flush()
    assert "R" in disk.written().turn_requests


async def test_a_command_is_decided_after_the_facts_received_before_it(
    writer: ThreadWriter, disk: Disk
) -> None:
    writer.record_facts(*turn("T0"))
    await writer.flush()
    disk.fill()
    await lose_facts(writer, ev.TurnStarted("T1", 1))
    disk.free()
    with pytest.raises(CommandRefused) as refused:
        await writer.execute(wire.TrimContext(command_id="c", thread_id=THREAD))
    assert refused.value.reason is Reason.TURN_IN_PROGRESS


async def test_a_command_is_refused_while_the_facts_before_it_are(
    writer: ThreadWriter, disk: Disk
) -> None:
    disk.fill()
    await lose_facts(writer, ev.TurnStarted("T1", 1))
    with pytest.raises(JournalRefuses):
        await writer.execute(wire.RenameThread(command_id="c", thread_id=THREAD, name="new"))
    disk.free()
    await writer.flush()
    assert (disk.written().running_turn_id, disk.written().name) == ("T1", None)


async def lose_facts(writer: ThreadWriter, *facts: ev.AnyEvent) -> None:
    writer.record_facts(*facts)
    await lose(writer)


def is_resumed(state: ThreadState) -> bool:
    return state.generation.provider_thread_id == "resumed" and state.generation.ready


RESUMED = (ev.ProviderThreadBound(1, "resumed"), ev.SessionReady(1))
KEPT: list[tuple[internal.InternalCommand, Callable[[ThreadState], bool]]] = [
    (internal.RecordFacts(RESUMED), is_resumed),
    (internal.RecordFacts((ev.SessionStopped(1),)), lambda state: state.session_stopped),
    (internal.RecordFacts((ev.TurnRequested("R"),)), lambda state: "R" in state.turn_requests),
    (
        internal.RecordFacts((ev.RequestOpened("Q", "ask"),)),
        lambda state: "Q" in state.pending_requests,
    ),
    (internal.RollBackTurns("T0", provider_did=True), lambda state: state.turns == []),
]


@pytest.mark.parametrize(("command", "holds"), KEPT)
@pytest.mark.parametrize("is_known_to_fail", [False, True])
async def test_facts_are_written_once_the_disk_accepts_them_again(
    writer: ThreadWriter,
    disk: Disk,
    command: internal.InternalCommand,
    holds: Callable[[ThreadState], bool],
    is_known_to_fail: bool,
) -> None:
    writer.record_facts(*turn("T0"))
    await writer.flush()
    disk.fill()
    if is_known_to_fail:
        await lose_facts(writer, ev.TurnRequested("before"))
    with pytest.raises(JournalRefuses):
        await writer.execute(command)
    disk.free()
    await writer.flush()
    assert holds(disk.written())
    assert disk.written() == writer.state


async def test_a_turn_that_was_given_up_unwritten_is_ended_when_the_disk_takes_it(
    writer: ThreadWriter, disk: Disk
) -> None:
    disk.fill()
    await lose_facts(writer, ev.TurnStarted("T1", 1))
    with pytest.raises(JournalRefuses):
        writer.submit(internal.AbandonOpenWork("gone"))
    writer.record_facts(ev.TurnStarted("T2", 1))
    disk.free()
    await writer.flush()
    assert [(one.id, one.status) for one in disk.written().turns] == [
        ("T1", "interrupted"),
        ("T2", "running"),
    ]


async def test_a_thread_brought_back_unwritten_is_back_when_the_disk_takes_it(
    writer: ThreadWriter, disk: Disk
) -> None:
    await writer.execute(wire.ArchiveThread(command_id="a", thread_id=THREAD))
    disk.fill()
    await lose_facts(writer, ev.ThreadUnarchived())
    disk.free()
    await writer.flush()
    assert not disk.written().archived


async def test_a_compactions_fork_outlives_a_full_disk(writer: ThreadWriter, disk: Disk) -> None:
    writer.record_facts(*turn("T0"))
    result = await writer.execute(wire.CompactContext(command_id="c", thread_id=THREAD, force=True))
    disk.fill()
    await lose_facts(writer, ev.CompactionForked(str(result.operation_id), "fork"))
    disk.free()
    await writer.flush()
    operation = disk.written().operation
    assert operation is not None
    assert operation.compaction_fork == "fork"


async def test_a_refused_command_did_not_happen(writer: ThreadWriter, disk: Disk) -> None:
    disk.fill()
    with pytest.raises(JournalRefuses):
        await writer.execute(wire.RenameThread(command_id="c", thread_id=THREAD, name="new"))
    disk.free()
    await writer.flush()
    assert (writer.state.name, disk.written().name) == (None, None)


async def test_the_facts_of_an_operations_step_are_lost_with_the_step(
    registry: ThreadRegistry, disk: Disk
) -> None:
    writer = await begin(registry, bound=False)
    operation = writer.state.open_operation
    assert operation is not None
    await writer.execute(internal.AdvanceOperation(operation.id, Phase.STARTING))
    disk.fill()
    bound = (ev.ProviderThreadBound(1, "P"),)
    writer.submit(internal.AdvanceOperation(operation.id, Phase.BOOTSTRAPPING, facts=bound))
    await lose(writer)
    disk.free()
    await writer.flush()
    assert disk.written().generation.provider_thread_id is None
    assert writer.state.open_operation is not None
    assert writer.state.open_operation.phase is Phase.STARTING


async def test_records_durable_before_a_failure_are_published_and_written_once(
    writer: ThreadWriter, registry: ThreadRegistry, disk: Disk
) -> None:
    shown: list[ev.AnyEvent] = []
    registry.subscribe(lambda thread_id, record: shown.extend(record.events))
    writer.record_facts(ev.TurnStarted("T1", 1), ev.ContextItemsRecorded("T1", (b"{}",)))
    await vars(writer)["_journal"].commit()  # durable, and nobody has come round to say so
    disk.fill_once()
    await lose_facts(writer, ev.TurnCompleted("T1", "completed"))
    await writer.flush()
    assert disk.written() == writer.state
    assert disk.written().turns[0].items == [b"{}"]
    assert [type(event) for event in shown] == [
        ev.TurnStarted,
        ev.ContextItemsRecorded,
        ev.TurnCompleted,
    ]


async def test_a_record_that_cannot_be_folded_is_never_written(
    writer: ThreadWriter, disk: Disk
) -> None:
    before = disk.written()
    with pytest.raises(IndexError):
        await writer.execute(internal.RecordFacts((ev.SessionReady(99),)))
    await writer.flush()
    assert writer.state == before
    writer.record_facts(*turn("T1"))
    await writer.flush()
    assert [one.id for one in disk.written().turns] == ["T1"]


async def test_a_fact_that_fits_no_more_is_lost_alone(writer: ThreadWriter, disk: Disk) -> None:
    disk.fill()
    await lose_facts(writer, ev.TurnRequested("R1"))
    for fact in (
        internal.RecordFacts((ev.SessionReady(99),)),
        internal.RecordFacts((ev.TurnRequested("R2"),)),
    ):
        with pytest.raises(JournalRefuses):
            writer.submit(fact)
    disk.free()
    await writer.flush()
    assert disk.written() == writer.state
    assert disk.written().turn_requests.keys() == {"R1", "R2"}


async def test_the_flusher_tries_again_until_the_disk_takes_it(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushing, "RETRY_PAUSES_S", (0,))
    tried = anyio.Event()
    with anyio.fail_after(STEP_S):
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            writer = await begin(registry)
            disk.on_refusal = lambda: tried.set() if disk.refused > 5 else None
            disk.fill()
            with published(registry, ev.TurnStarted) as durable:
                writer.record_facts(ev.TurnStarted("T1", 1))
                await tried.wait()
                disk.free()
                await durable.wait()
    assert [one.id for one in disk.written().turns] == ["T1"]


async def test_other_threads_are_flushed_while_one_waits_to_be_tried_again(
    writer: ThreadWriter, registry: ThreadRegistry, disk: Disk
) -> None:
    other = await begin(registry, OTHER)
    disk.fill(THREAD)
    refusals: list[int] = []
    for number in range(3):
        writer.record_facts(ev.TurnRequested(f"R{number}"))
        with published(registry, ev.TurnRequested, OTHER) as durable:
            other.record_facts(ev.TurnRequested(f"R{number}"))
            await durable.wait()
        await anyio.wait_all_tasks_blocked()
        refusals.append(disk.refused)
    assert refusals[0] > 0
    assert refusals == refusals[:1] * 3, "the one that waits is not tried again for each fact"
    disk.free()
    await writer.flush()
    assert len(disk.written().turn_requests) == 3
