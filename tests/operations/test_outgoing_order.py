"""What clients are told about a thread comes in one order, however slow the disk and the captures
of its files are, and however Codex ends.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint
from msgspec import Raw
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.operations.checkpoints.turn_captures import TurnCaptures
from trimpoint.operations.routing import ordered_sink
from trimpoint.operations.routing.routes import Route, ThreadRole

from tests.operations.lives import life_of
from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD, Disk


class Gate:
    """Lets callers through while it is open."""

    def __init__(self) -> None:
        self._opened = anyio.Event()
        self._opened.set()

    def close(self) -> None:
        if self._opened.is_set():
            self._opened = anyio.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self, *_: object) -> None:
        await self._opened.wait()
        await checkpoint()


@dataclass
class SlowDisk(Disk):
    gate: Gate = field(default_factory=Gate)

    async def wait(self) -> None:
        await self.gate.passed()


@dataclass
class Slow:
    """A stage whose disk and captures are as slow as the test says."""

    stage: Stage
    disk: Gate
    captures: Gate

    def open(self) -> None:
        self.disk.open()
        self.captures.open()

    def begin_turn(self, turn_id: str) -> None:
        self.stage.says("turn/started", turn={"id": turn_id, "items": [], "status": "inProgress"})

    def say_in(self, turn_id: str) -> None:
        self.stage.says("item/agentMessage/delta", turnId=turn_id, itemId="i", delta="x")

    def ask_in(self, turn_id: str, number: int) -> None:
        params = {"threadId": THREAD, "turnId": turn_id, "itemId": "i"}
        self.stage.operations.router.on_server_request(
            Raw(b"%d" % number), "item/fileChange/requestApproval", Raw(msgspec.json.encode(params))
        )

    def end_turn(self, turn_id: str) -> None:
        self.stage.says("turn/completed", turn={"id": turn_id, "items": [], "status": "completed"})

    def kill_codex(self) -> None:
        self.stage.operations.router.on_epoch_ended(1, "it was killed")


@asynccontextmanager
async def slow_stage(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Slow]:
    captures, disk = Gate(), SlowDisk()
    monkeypatch.setattr(TurnCaptures, "settled", lambda _, thread_id: captures.passed(thread_id))
    async with opened_stage(disk=disk) as stage:
        await stage.thread("T0")
        slow = Slow(stage, disk.gate, captures)
        yield slow
        slow.open()


async def test_a_dying_codex_ends_a_turn_behind_what_was_said_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with slow_stage(monkeypatch) as slow:
        slow.begin_turn("T1")
        slow.captures.close()
        slow.end_turn("T1")
        slow.begin_turn("T2")
        slow.kill_codex()
        slow.open()
        await slow.stage.hears("turn/completed", times=2)
    assert life_of(slow.stage.client.received).ended == ["T1", "T2"]


async def test_a_question_comes_behind_the_start_of_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with slow_stage(monkeypatch) as slow:
        slow.begin_turn("T1")
        slow.captures.close()
        slow.end_turn("T1")
        slow.begin_turn("T2")
        slow.ask_in("T2", 7)
        slow.open()
        await slow.stage.hears("item/fileChange/requestApproval")
    assert life_of(slow.stage.client.received).questions


async def test_a_question_waits_as_long_as_the_messages_of_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with slow_stage(monkeypatch) as slow:
        with slow.stage.operations.router.pausing(THREAD):
            slow.begin_turn("T1")
            slow.ask_in("T1", 7)
            assert "item/fileChange/requestApproval" not in slow.stage.client.methods()
    assert life_of(slow.stage.client.received).questions


async def test_the_question_of_a_codex_that_has_ended_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with slow_stage(monkeypatch) as slow:
        slow.begin_turn("T1")
        slow.captures.close()
        slow.end_turn("T1")
        slow.begin_turn("T2")
        slow.ask_in("T2", 7)
        slow.kill_codex()
        slow.open()
        await slow.stage.hears("turn/completed", times=2)
    assert life_of(slow.stage.client.received).questions == set()


async def test_the_turn_of_a_compaction_comes_behind_the_turn_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with slow_stage(monkeypatch) as slow:
        router = slow.stage.operations.router
        slow.begin_turn("T1")
        slow.captures.close()
        slow.end_turn("T1")
        router.bind("fork", Route(THREAD, ThreadRole.TEMPORARY, 0))
        router.watches["fork"] = watch = _Watch()
        turn = {"id": "C", "items": [], "status": "inProgress"}
        slow.stage.says("turn/started", threadId="fork", turn=turn)
        assert watch.heard == ["turn/started"]
        writer = await slow.stage.registry.thread(THREAD)
        writer.record_facts(ev.OperationStarted("O", "compact"))
        writer.record_facts(ev.OperationAdvanced("O", Phase.FAILED, "Codex was killed"))
        await writer.flush()
        slow.open()
        await slow.stage.hears("turn/completed", times=2)
    assert life_of(slow.stage.client.received).ended == ["T1", "C"]


class _Watch:
    turn_id = "C"

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_message(self, message: CodexMessage) -> None:
        self.heard.append(message.method)

    def abort(self, reason: str) -> None: ...


async def test_a_disk_that_does_not_answer_keeps_clients_waiting_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ordered_sink, "LONGEST_WAIT_S", 0.01)
    async with slow_stage(monkeypatch) as slow:
        slow.disk.close()
        slow.begin_turn("T1")
        slow.end_turn("T1")
        await slow.stage.hears("turn/completed")
        slow.open()


@pytest.mark.parametrize("seed", range(60))
async def test_each_client_is_told_a_life_that_can_be(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    async with slow_stage(monkeypatch) as slow:
        running: str | None = None
        ended = 0
        for number in range(40):
            await _some_steps(random)
            match random.choice(("turn", "turn", "say", "say", "ask", "kill", "disk", "captures")):
                case "turn" if running is None:
                    running = f"T{number + 1}"
                    slow.begin_turn(running)
                case "turn":
                    slow.end_turn(str(running))
                    running, ended = None, ended + 1
                case "say" if running is not None:
                    slow.say_in(running)
                case "ask" if running is not None:
                    slow.ask_in(running, number)
                case "kill" if random.random() < 0.3:
                    ended += running is not None
                    running = None
                    slow.kill_codex()
                case "disk":
                    random.choice((slow.disk.close, slow.disk.open))()
                case "captures":
                    random.choice((slow.captures.close, slow.captures.open))()
                case _:
                    pass
        if running is not None:
            slow.end_turn(running)
            ended += 1
        slow.open()
        await slow.stage.hears("turn/completed", times=ended)
        life = life_of(slow.stage.client.received)
        assert (life.running, life.questions, len(life.ended)) == (None, set(), ended)


async def _some_steps(random: Random) -> None:
    for _ in range(random.choice((0, 0, 1, 2, 5))):
        await checkpoint()


async def test_the_end_of_a_turn_whose_beginning_the_disk_refused_is_reported() -> None:
    async with opened_stage() as stage:
        await stage.thread("T0")
        stage.disk.fill()
        stage.says("thread/name/updated", threadName="new")  # a fact that the disk refuses
        await stage.refusals()
        stage.says("turn/started", turn={"id": "T1", "items": [], "status": "inProgress"})
        stage.operations.router.on_epoch_ended(1, "it was killed")
        await stage.hears("turn/completed")
        stage.disk.free()
    assert life_of(stage.client.received).ended == ["T1"]


async def test_an_end_that_codex_and_the_daemon_report_is_told_once() -> None:
    """Codex may say it again, as after a daemon that reported it for a Codex that had not."""
    async with opened_stage() as stage:
        await stage.thread("T0")
        stage.says("turn/started", turn={"id": "T1", "items": [], "status": "inProgress"})
        for status in ("interrupted", "completed"):
            stage.says("turn/completed", turn={"id": "T1", "items": [], "status": status})
        await stage.hears("turn/completed")
        await anyio.wait_all_tasks_blocked()
        assert life_of(stage.client.received).ended == ["T1"]
        assert stage.client.methods().count("turn/completed") == 1


async def test_a_turn_that_begins_is_told_behind_the_end_of_the_one_before_it() -> None:
    async with opened_stage() as stage:
        await stage.thread("T0")
        for turn_id in ("T1", "T2"):
            stage.says("turn/started", turn={"id": turn_id, "items": [], "status": "inProgress"})
        for turn_id in ("T1", "T2"):
            stage.says("turn/completed", turn={"id": turn_id, "items": [], "status": "completed"})
        await stage.hears("turn/completed", times=2)
        await anyio.wait_all_tasks_blocked()
        life = life_of(stage.client.received)
        assert (life.ended, life.running) == (["T1", "T2"], None)


async def test_the_end_of_a_turn_that_was_repeated_is_told_once() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T0")
        stage.says("turn/started", turn={"id": "T1", "items": [], "status": "inProgress"})
        writer.state.turn_aliases["T1 again"] = "T1"  # as after an overflow
        stage.says("turn/completed", turn={"id": "T1 again", "items": [], "status": "completed"})
        await stage.hears("turn/completed")
        stage.operations.router.on_epoch_ended(1, "it was killed")
        await anyio.wait_all_tasks_blocked()
        assert stage.client.methods().count("turn/completed") == 1
