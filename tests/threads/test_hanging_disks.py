"""A disk that does not answer: commands are answered, other threads go on, nothing runs twice."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import pytest
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.storage.memory import MemoryJournal
from trimpoint.threads.errors import CommandUnconfirmed, JournalRefuses
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.flushing import SLOW, SLOW_S, Trouble
from trimpoint_protocol import commands as wire

from tests.deadlines import SCENARIO_S
from tests.simulation.loop import run_without_clock
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin

SOON_S = SLOW_S + 1
AT_ONCE = 0


@dataclass
class HangingDisk(Disk):
    """From `hang` on nothing is written until `answer`."""

    answers: anyio.Event | None = None

    def hang(self) -> None:
        self.answers = anyio.Event()

    def answer(self) -> None:
        if self.answers is not None:
            self.answers.set()
        self.answers = None

    async def wait(self) -> None:
        await super().wait()
        if self.answers is not None:
            await self.answers.wait()


@dataclass
class Scene:
    disk: HangingDisk
    registry: ThreadRegistry
    told: list[tuple[str, Trouble | None]] = field(default_factory=list)

    def records_of(self, command: wire.RenameThread) -> int:
        """Returns how many records the disk has of a command."""
        mark = command.command_id.encode()
        return sum(mark in record for record in self.disk.records[command.thread_id])


def play(story: Callable[[Scene], Awaitable[None]]) -> None:
    """Runs a story of two threads on a loop without a clock."""

    async def main() -> None:
        disk = HangingDisk()
        async with ThreadRegistry.running(Store(disk), Policy()) as registry:
            for thread_id in (THREAD, OTHER):
                await begin(registry, thread_id)
            scene = Scene(disk, registry)
            registry.subscribe_trouble(lambda *told: scene.told.append(told))
            try:
                with anyio.fail_after(SCENARIO_S):
                    await story(scene)
            finally:  # else the registry would wait for the disk
                disk.answer()

    run_without_clock(main)


def rename(number: int, thread_id: str = THREAD) -> wire.RenameThread:
    return wire.RenameThread(command_id=f"command {number}.", thread_id=thread_id, name=f"{number}")


def test_a_command_whose_disk_hangs_is_answered_and_carried_out_once_when_the_disk_answers() -> (
    None
):
    async def story(scene: Scene) -> None:
        published = list[ev.Record]()
        scene.registry.subscribe(lambda _, record: published.append(record))
        scene.disk.hang()
        for _ in range(3):  # a client that is told so sends it again
            with anyio.fail_after(SOON_S), pytest.raises(CommandUnconfirmed):
                await scene.registry.dispatch(rename(1))
        assert (THREAD, Trouble(SLOW, is_too_much=False)) in scene.told
        assert published == []
        scene.disk.answer()
        await anyio.sleep(1)
        assert scene.told[-1] == (THREAD, None)
        answer = await scene.registry.dispatch(rename(1))
        assert [type(event) for event in answer.record.events] == [ev.ThreadRenamed]
        assert scene.records_of(rename(1)) == 1
        assert [one.command_id for one in published] == ["command 1."]

    play(story)


def test_while_a_disk_hangs_nothing_more_is_begun_and_everything_is_read() -> None:
    async def story(scene: Scene) -> None:
        scene.disk.hang()
        with pytest.raises(CommandUnconfirmed):
            await scene.registry.dispatch(rename(1))
        writer = await scene.registry.thread(OTHER)
        held = writer.unwritten_bytes
        for number in range(2, 50):
            with anyio.fail_after(AT_ONCE), pytest.raises(JournalRefuses, match=SLOW):
                await scene.registry.dispatch(rename(number, OTHER))
        assert writer.unwritten_bytes == held
        new = internal.CreateThread("01900000-0000-7000-8000-000000000003", "/", "started", b"{}")
        with pytest.raises(JournalRefuses, match=SLOW):
            await scene.registry.create(new)
        assert (await scene.registry.thread(OTHER)).state.exists
        scene.disk.answer()
        await anyio.sleep(1)
        await scene.registry.dispatch(rename(2, OTHER))
        assert scene.records_of(rename(2, OTHER)) == 1

    play(story)


def test_a_journal_that_hangs_does_not_keep_another_from_being_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(scene: Scene) -> None:
        one, other = [await scene.registry.thread(thread_id) for thread_id in (THREAD, OTHER)]
        commit, answers = MemoryJournal.commit, anyio.Event()

        async def of_one(journal: MemoryJournal) -> None:
            if journal is one.journal:
                await answers.wait()
            await commit(journal)

        monkeypatch.setattr(MemoryJournal, "commit", of_one)
        one.record_facts(ev.TurnRequested("R"))
        other.record_facts(ev.TurnRequested("R"))
        await anyio.sleep(SOON_S)
        assert other.is_quiescent
        assert not one.is_quiescent
        assert scene.told == [(THREAD, Trouble(SLOW, is_too_much=False))]
        answers.set()
        await anyio.sleep(1)
        assert one.is_quiescent

    play(story)


def test_what_waits_for_a_write_is_refused_when_the_disk_hangs() -> None:
    async def story(scene: Scene) -> None:
        writer = await scene.registry.thread(THREAD)
        writer.record_facts(ev.TurnRequested("R"))
        await scene.registry.written(writer)
        scene.disk.hang()
        writer.record_facts(ev.TurnRequested("S"))
        with anyio.fail_after(SOON_S), pytest.raises(JournalRefuses, match=SLOW):
            await scene.registry.written(writer)

    play(story)
