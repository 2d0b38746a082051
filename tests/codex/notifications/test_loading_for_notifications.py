"""A thread that is not in memory is loaded when Codex sends a notification about it, and no
notification is lost or reordered.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskGroup
from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model.decision import Policy
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.threads.registry import ThreadRegistry

from tests.codex.notifications.routing import Listener, say, without_delay
from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin


@asynccontextmanager
async def evicted(
    disk: Disk, store: Store
) -> AsyncGenerator[tuple[ThreadRegistry, NotificationRouter, Listener, TaskGroup]]:
    """Yields a registry whose one thread is not in memory, and a router for notifications about
    that thread.
    """
    async with (
        ThreadRegistry.running(store, Policy(), ThreadsSection(evict_after_s=0.0)) as registry,
        anyio.create_task_group() as tasks,
    ):
        await begin(registry)
        await registry.sweep()
        assert registry.loaded(THREAD) is None
        listener = Listener()
        router = NotificationRouter(registry, listener, without_delay, tasks)
        with anyio.fail_after(STEP_S):
            yield registry, router, listener, tasks


def name_a_thread(router: NotificationRouter) -> None:
    say(router, "thread/name/updated", threadName="A name")


async def test_facts_about_an_unloaded_thread_are_recorded() -> None:
    disk = Disk()
    async with evicted(disk, Store(disk)) as (registry, router, listener, _):
        name_a_thread(router)
        say(router, "thread/other")
        assert listener.heard == []
        assert await listener.hears(2) == ["thread/name/updated", "thread/other"]
        assert (await registry.thread(THREAD)).state.name == "A name"


async def test_a_notification_without_facts_loads_no_thread() -> None:
    disk = Disk()
    async with evicted(disk, Store(disk)) as (registry, router, listener, _):
        say(router, "item/agentMessage/delta", delta="x")
        assert await listener.hears(1) == ["item/agentMessage/delta"]
        assert registry.loaded(THREAD) is None


async def test_a_thread_that_cannot_be_loaded_keeps_no_client_waiting() -> None:
    disk = Disk()
    store = Store(disk)
    async with evicted(disk, store) as (_, router, listener, _):
        store.unopenable = THREAD
        name_a_thread(router)
        assert await listener.hears(1) == ["thread/name/updated"]


@pytest.mark.parametrize("receiver", ["sub-agent"])
async def test_a_thread_with_sub_agents_is_expecting_more(receiver: str) -> None:
    disk = Disk()
    async with evicted(disk, Store(disk)) as (_, router, listener, _):
        assert not router.must_stay_in_memory(THREAD)
        item = {"type": "collabAgentToolCall", "id": "call", "receiverThreadIds": [receiver]}
        say(router, "item/completed", turnId="T1", item=item)
        await listener.hears(1)
        assert router.must_stay_in_memory(THREAD)
