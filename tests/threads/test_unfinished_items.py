"""What was under way when the daemon was killed is in the history after the next start."""

import anyio
import pytest
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.threads import unfinished_items
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.unfinished_items import ABANDONED, FILE_NAME, UnfinishedItem, UnfinishedItems

from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin

pytestmark = pytest.mark.usefixtures("written_at_once")
EMPTY = b"{}"


@pytest.fixture
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished_items, "WRITE_S", 0.0)


def begin_answer(registry: ThreadRegistry) -> None:
    def entry(text: str, is_declined: bool) -> ev.EntryRecorded:
        return ev.EntryRecorded("T1", "m1", "message", "assistant", text, extent=ev.PART)

    registry.unfinished_items.begin(THREAD, "m1", UnfinishedItem("T1", True, entry))


def say(registry: ThreadRegistry, text: str) -> None:
    params = {"itemId": "m1", "delta": text}
    message = CodexMessage.compose("item/agentMessage/delta", params)
    registry.unfinished_items.add(THREAD, [message.line])


async def until_written(disk: Disk, text: bytes) -> None:
    with anyio.fail_after(STEP_S):
        while text not in disk.checked.get(FILE_NAME, EMPTY):
            await anyio.lowlevel.checkpoint()


async def killed_in_an_answer(disk: Disk, *, until_in_file: bool = True) -> Disk:
    """Returns the disk as a daemon leaves it that is killed while the model speaks."""
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        writer = await begin(registry)
        writer.record_facts(ev.TurnStarted("T1", 1))
        await writer.flush()
        begin_answer(registry)
        say(registry, "The first ")
        say(registry, "half")
        if until_in_file:
            await until_written(disk, b"The first half")
        return Disk(
            records={name: list(held) for name, held in disk.records.items()},
            checked=dict(disk.checked),
        )


async def found(disk: Disk) -> list[tuple[str, str]]:
    """Returns the entries that the next daemon has of the turn, and checks that it has ended."""
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        state = (await registry.thread(THREAD)).state
        [turn] = state.turns
        assert (turn.status, turn.error) == ("interrupted", ABANDONED)
        return [(entry.text, "part" if entry.is_part else "") for entry in state.entries]


async def test_what_was_said_is_in_the_history_and_the_file_is_emptied() -> None:
    left = await killed_in_an_answer(Disk())
    assert await found(left) == [("The first half", "part")]
    assert left.checked[FILE_NAME] == EMPTY
    assert await found(left) == [("The first half", "part")]


async def test_a_daemon_that_ends_while_the_model_speaks_writes_what_was_said() -> None:
    disk = Disk()
    await killed_in_an_answer(disk, until_in_file=False)
    assert await found(disk) == [("The first half", "part")]


async def test_what_was_said_stays_in_the_file_until_its_thread_has_it() -> None:
    left = await killed_in_an_answer(Disk())
    items = UnfinishedItems(Store(left))
    await items.open()
    await items.write()
    assert b"The first half" in left.checked[FILE_NAME]
    assert await found(left) == [("The first half", "part")]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"x": [{"type": "odd"}]}', b"\xff"])
async def test_a_file_that_cannot_be_read_leaves_nothing(content: bytes) -> None:
    left = await killed_in_an_answer(Disk())
    left.checked[FILE_NAME] = content
    assert await found(left) == []


async def test_a_state_without_the_file_is_opened() -> None:
    left = await killed_in_an_answer(Disk())
    del left.checked[FILE_NAME]
    assert await found(left) == []
    assert FILE_NAME not in left.checked


async def test_an_answer_of_a_turn_that_has_ended_is_not_recorded() -> None:
    left = await killed_in_an_answer(Disk())
    stale = left.checked[FILE_NAME]
    del left.checked[FILE_NAME]
    assert await found(left) == []
    left.checked[FILE_NAME] = stale
    assert await found(left) == []


async def test_an_answer_that_is_finished_leaves_no_file() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin(registry)
        begin_answer(registry)
        say(registry, "whole")
        await until_written(disk, b"whole")
        registry.unfinished_items.remove(THREAD, "m1")
        with anyio.fail_after(STEP_S):
            while disk.checked[FILE_NAME] != EMPTY:
                await anyio.lowlevel.checkpoint()


async def test_a_full_disk_costs_what_was_said_and_nothing_else() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        await begin(registry)
        begin_answer(registry)
        disk.fill()
        say(registry, "one ")
        with anyio.fail_after(STEP_S):
            while not disk.refused:
                await anyio.lowlevel.checkpoint()
        disk.free()
        say(registry, "two")
        await until_written(disk, b"one two")
