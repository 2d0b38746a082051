"""The registry as the parts of one launch profile see it: the whole, but they hear of their threads
alone.
"""

from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import CreateThread
from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import ThreadRegistry

from tests.threads.stage import Disk, Store


def thread(name: str, launch: bytes = b"") -> CreateThread:
    return CreateThread(
        name, "/work", "started", b"{}", provider_thread_id=f"codex-{name}", launch=launch
    )


async def test_listeners_hear_of_their_own_threads_until_the_part_is_closed() -> None:
    heard: list[str] = []
    asked: list[str] = []

    def hear(thread_id: str, record: ev.Record) -> None:
        del record
        heard.append(thread_id)

    def ask(thread_id: str) -> bool:
        asked.append(thread_id)
        return False

    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        part = registry.part(lambda thread_id: registry.launches.get(thread_id) == b"own")
        part.subscribe(hear)
        part.keep_in_memory(ask)
        await part.create(thread("t1", b"own"))
        await registry.create(thread("t2"))
        await registry.create(thread("t3", b"others"))
        assert heard == ["t1"]
        assert [writer.thread_id for writer in part.loaded_writers()] == ["t1"]
        assert len(registry.loaded_writers()) == 3
        assert part.owner_of("codex-t3") == "t3"
        part.close()
        await registry.create(thread("t4", b"own"))
        await registry.sweep()
    assert heard == ["t1"]
    assert asked == []


async def test_the_launch_of_a_thread_is_known_without_opening_it() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await registry.create(thread("t1", b"own"))
        await registry.create(thread("t2"))
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        assert registry.launches == {"t1": b"own"}
        assert registry.loaded_writers() == []
