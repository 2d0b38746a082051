"""A journal that cannot be read to its end costs its thread the writing: the daemon starts, and the
thread can be looked at.
"""

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import anyio
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.gateway.methods.extension.extension_methods import ExtensionHandlers, HandlerDeps
from trimpoint.journal.codec.records import encode_record
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol import commands as wire
from trimpoint_protocol import methods as m

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, turn

ORPHAN = encode_record(
    ev.Record(99, 99, 0, (ev.EntryRecorded("never started", "m", "message", "user", "hello"),))
)
UNKNOWN = b"\xc1 no record at all"


async def written(disk: Disk) -> None:
    """Two threads with a turn each."""
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        for thread_id in (THREAD, OTHER):
            writer = await begin(registry, thread_id)
            writer.record_facts(*turn("T1"))
            await writer.flush()


async def is_refused(writer: ThreadWriter) -> None:
    with pytest.raises(JournalRefuses):
        await writer.execute(wire.RenameThread(command_id="c", thread_id=THREAD, name="new"))
    writer.record_facts(*turn("T2"))
    with pytest.raises(JournalRefuses):
        await writer.flush()


@pytest.mark.parametrize("payload", [ORPHAN, UNKNOWN], ids=["orphan", "unknown"])
async def test_a_record_that_does_not_follow_makes_its_thread_read_only_up_to_there(
    payload: bytes,
) -> None:
    disk = Disk()
    await written(disk)
    disk.records[THREAD].append(payload)
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await registry.thread(THREAD)
        assert writer.read_only
        assert "KeyError" not in writer.read_only
        assert [one.id for one in writer.state.turns] == ["T1"]
        await is_refused(writer)
        other = await registry.thread(OTHER)
        await other.execute(wire.RenameThread(command_id="c", thread_id=OTHER, name="new"))
    assert disk.written(OTHER).name == "new"
    assert disk.records[THREAD][-1] == payload


async def test_a_record_that_does_not_follow_is_met_when_the_journal_is_read_again() -> None:
    disk = Disk()
    await written(disk)
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await registry.thread(THREAD)
        disk.fill_once()
        writer.record_facts(*turn("T2"))
        disk.records[THREAD].append(ORPHAN)
        with pytest.raises(JournalRefuses):
            await writer.flush()
        assert writer.read_only
        assert [one.id for one in writer.state.turns] == ["T1"]
        await is_refused(writer)
        await (await registry.thread(OTHER)).flush()


async def test_a_damaged_thread_can_be_followed() -> None:
    disk = Disk()
    await written(disk)
    disk.damaged[THREAD] = 2
    notified: list[tuple[str, Any]] = []

    def notify(method: str, params: Any) -> None:
        notified.append((method, params))

    client = SimpleNamespace(followed={}, notify=notify)
    call: Any = SimpleNamespace(client=client, after=[])
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await registry.thread(THREAD)
        nothing: Any = None
        meters: Any = SimpleNamespace(status_of=AsyncMock(return_value=None))
        no_live_items: Any = SimpleNamespace(of=lambda _thread_id: [])
        handlers = ExtensionHandlers(
            HandlerDeps(
                registry,
                nothing,
                nothing,
                nothing,
                nothing,
                meters,
                nothing,
                "",
                lambda: None,
                nothing,
                no_live_items,
            )
        )
        with anyio.fail_after(STEP_S):
            result: Any = await handlers.table["orchestration/subscribeThread"](
                call, m.SubscribeParams(thread_id=THREAD)
            )
    for then in call.after:
        then()
    assert result.mode == "snapshot"
    assert "damaged" in result.thread.read_only
    assert set(client.followed) == {THREAD}
    assert [method for method, _ in notified] == ["orchestration/synchronized"]


async def test_a_record_of_a_newer_version_is_refused_with_the_version_that_is_needed() -> None:
    disk = Disk()
    await written(disk)
    disk.records[THREAD].append(UNKNOWN)
    store = Store(disk)
    store.newest_version = lambda: "7.1"  # type: ignore[method-assign]
    async with ThreadRegistry.running(store, Policy()) as registry:
        writer = await registry.thread(THREAD)
        assert writer.read_only
        assert "it needs trimpoint 7.1 or a later one" in writer.read_only
