"""The program of the person's that is run when something happens: which events, and what it is
told.
"""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import anyio
import pytest
from trimpoint.config.sections import NotifySection, ThreadsSection
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.operations import notify
from trimpoint.operations.notify import Kind, Notifications, run_program
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

from tests.codex.children import ending_of, has_ended
from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin, turn

EVERY: tuple[Kind, ...] = get_args(Kind)
FULL = ev.UsageReported("T1", 950, 950, 1_000, 940, 0, 10, 0)
SMALL = ev.UsageReported("T1", 100, 1_050, 1_000, 90, 0, 10, 0)


class Told(list[Mapping[str, str]]):
    """What the program was told, one mapping a run. A run ends when `released` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.released = anyio.Event()
        self.released.set()

    async def run(self, command: Sequence[str], told: Mapping[str, str]) -> None:
        assert command == ["tell-me"]
        self.append(told)
        await self.released.wait()

    @property
    def kinds(self) -> list[str]:
        return [one["TRIMPOINT_EVENT"] for one in self]


@asynccontextmanager
async def watched(told: Told, events: Sequence[Kind] = EVERY) -> AsyncGenerator[ThreadWriter]:
    async with (
        ThreadRegistry.running(Store(Disk()), Policy(), ThreadsSection(300.0)) as registry,
        anyio.create_task_group() as tasks,
    ):
        Notifications(registry, ["tell-me"], events, tasks, told.run)
        with anyio.fail_after(STEP_S):
            yield await begin(registry)
            tasks.cancel_scope.cancel()


async def record(writer: ThreadWriter, *facts: ev.AnyEvent) -> None:
    """Records facts, and lets what they start run."""
    writer.record_facts(*facts)
    await writer.flush()
    await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("done", turn("T1")),
        ("asks", (ev.RequestOpened("Q", "item/commandExecution/requestApproval"),)),
        ("critical", (ev.TurnStarted("T1", 1), FULL)),
    ],
)
async def test_each_event_is_reported_once(kind: Kind, facts: tuple[ev.AnyEvent, ...]) -> None:
    told = Told()
    async with watched(told) as writer:
        await record(writer, *facts)
    assert told.kinds == [kind]
    (only,) = told
    assert only["TRIMPOINT_THREAD"] == THREAD
    assert (only["TRIMPOINT_TITLE"], only["TRIMPOINT_FOLDER"]) == ("/", "/")
    assert only["TRIMPOINT_SAID"].endswith(".")


async def test_what_was_not_asked_for_is_not_reported() -> None:
    told = Told()
    async with watched(told, ["asks"]) as writer:
        await record(writer, *turn("T1"), ev.TurnStarted("T2", 1), FULL)
    assert told == []


async def test_a_context_is_told_to_be_critical_once_until_it_has_been_smaller() -> None:
    told = Told()
    async with watched(told, ["critical"]) as writer:
        await record(writer, ev.TurnStarted("T1", 1), FULL)
        await record(writer, FULL)
        assert told.kinds == ["critical"]
        await record(writer, SMALL)
    assert told.kinds == ["critical"]


async def test_a_program_that_hangs_is_run_once_and_keeps_nobody_waiting() -> None:
    told = Told()
    told.released = anyio.Event()
    async with watched(told, ["done"]) as writer:
        for number in range(50):
            await record(writer, *turn(f"T{number}"))
        assert told.kinds == ["done"]


async def test_soon_after_a_run_the_same_event_is_not_reported_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    async with watched(told, ["done"]) as writer:
        await record(writer, *turn("T1"))
        await record(writer, *turn("T2"))
        assert told.kinds == ["done"]
    monkeypatch.setattr(notify, "PAUSE_S", 0.0)
    told = Told()
    async with watched(told, ["done"]) as writer:
        await record(writer, *turn("T1"))
        await record(writer, *turn("T2"))
        assert told.kinds == ["done", "done"]


async def test_a_program_that_fails_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "PAUSE_S", 0.0)
    told = Told()

    async def broken(command: Sequence[str], environment: Mapping[str, str]) -> None:
        told.append(environment)
        raise FileNotFoundError(2, "There is no such program")

    monkeypatch.setattr(told, "run", broken)
    async with watched(told, ["done"]) as writer:
        await record(writer, *turn("T1"))
        await record(writer, *turn("T2"))
        assert told.kinds == ["done", "done"]


def test_the_settings_name_the_events_that_there_are() -> None:
    assert set(NotifySection().events) < set(EVERY)


@pytest.mark.processes
async def test_the_program_reads_what_happened_from_its_environment(tmp_path: Path) -> None:
    title = "$(touch hacked); `touch hacked`"
    script = f'printf "%s|%s" "$TRIMPOINT_EVENT" "$TRIMPOINT_TITLE" >{tmp_path}/told'
    with anyio.fail_after(STEP_S):
        await run_program(
            ["sh", "-c", script], {"TRIMPOINT_EVENT": "asks", "TRIMPOINT_TITLE": title}
        )
    assert (tmp_path / "told").read_text() == f"asks|{title}"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.processes
async def test_a_program_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    started = anyio.Path(tmp_path / "started")
    os.mkfifo(started)
    script = f"sleep 1000 & echo $! >{started}; wait"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_program, ["sh", "-c", script], {})
        with anyio.fail_after(STEP_S):
            child = int(await started.read_text())
        with ending_of(child) as ending:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await has_ended(ending)


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no such program"):
        await run_program(["no-such-program-anywhere"], {})
