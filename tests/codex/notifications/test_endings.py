"""The end of a turn that may continue is held back, and is sent exactly once if the turn does not
continue.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import TaskGroup
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.operations.routing.turn_end_buffer import TurnEndBuffer
from trimpoint.threads.registry import ThreadRegistry

from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin

MESSAGE = "Codex ran out of room in the model's context window."
OVERFLOW = {
    "message": MESSAGE,
    "codexErrorInfo": "contextWindowExceeded",
    "additionalDetails": None,
}
OTHER = {"message": "boom", "codexErrorInfo": "other", "additionalDetails": None}
STATUS = "thread/status/changed"
END = [STATUS, "error", "turn/completed"]


class Stage:
    """A thread whose turn `turn-1` fails, and the messages that its clients receive."""

    def __init__(self, registry: ThreadRegistry, disk: Disk, tasks: TaskGroup) -> None:
        self.registry = registry
        self.disk = disk
        self.endings = TurnEndBuffer(registry, self._forward, tasks)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.superseded: list[str] = []
        self.endings.subscribe_superseded(self.superseded.append)
        self._changed = anyio.Event()

    def _forward(self, thread_id: str, message: CodexMessage) -> None:
        assert thread_id == THREAD
        self.told.append((message.method, msgspec.json.decode(message.line)["params"]))
        self._changed.set()
        self._changed = anyio.Event()

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.told]

    async def is_told(self, count: int) -> None:
        while len(self.told) < count:
            await self._changed.wait()

    def on_notification(self, method: str, **params: Any) -> bool:
        message = CodexMessage.compose(method, {"threadId": THREAD, **params})
        return self.endings.intercept(THREAD, message)

    def fail(self, error: dict[str, Any] = OVERFLOW, *, between: str = "") -> None:
        """Sends the notifications that Codex sends when a turn fails."""
        assert self.on_notification(STATUS, status={"type": "systemError"})
        assert self.on_notification("error", error=error, willRetry=False)
        if between:
            self.on_notification(between)
        self.on_notification(
            "turn/completed", turn={"id": "turn-1", "status": "failed", "error": error}
        )


@asynccontextmanager
async def stage(policy: Policy | None = None) -> AsyncIterator[Stage]:
    disk = Disk()
    async with (
        ThreadRegistry.running(Store(disk), policy or Policy()) as registry,
        anyio.create_task_group() as tasks,
    ):
        writer = await begin(registry)
        prompt = ev.EntryRecorded("turn-1", "e", "message", "user", "go")
        failed = ev.TurnCompleted("turn-1", "failed", MESSAGE, error_kind="contextWindowExceeded")
        writer.record_facts(ev.TurnStarted("turn-1", 1), prompt, failed)
        await writer.flush()
        setup = Stage(registry, disk, tasks)
        with anyio.fail_after(STEP_S):
            yield setup


async def test_the_end_of_a_turn_that_may_go_on_is_held_back_until_it_does() -> None:
    async with stage() as setup:
        setup.fail()
        assert setup.endings.is_buffered(THREAD)
        assert not setup.on_notification("item/completed")
        setup.endings.forget(THREAD)
        setup.endings.release(THREAD, "nothing")
        assert setup.told == []


async def test_a_buffered_turn_end_is_forwarded_once_in_order_with_reason_and_advice() -> None:
    async with stage() as setup:
        setup.fail()
        setup.endings.release(THREAD, "No summary.")
        setup.endings.release(THREAD, "No summary.")
        assert setup.methods == ["warning", *END]
        assert setup.told[0][1]["message"] == "No summary."
        for error in (setup.told[2][1]["error"], setup.told[3][1]["turn"]["error"]):
            assert error["message"] == MESSAGE
            assert "/clear N" in error["additionalDetails"]


async def test_additional_details_of_an_error_are_passed_on_unchanged() -> None:
    async with stage(Policy(overflow_recovery=False)) as setup:
        setup.fail({**OVERFLOW, "additionalDetails": "more"})
        assert setup.told[1][1]["error"]["additionalDetails"] == "more"


@pytest.mark.parametrize("error", [OTHER, OVERFLOW], ids=["another failure", "switched off"])
async def test_a_turn_that_cannot_go_on_has_ended_at_once(error: dict[str, Any]) -> None:
    async with stage(Policy(overflow_recovery=False)) as setup:
        setup.fail(error, between="thread/readState/changed")
        assert setup.methods == [STATUS, "error", "thread/readState/changed", "turn/completed"]


async def test_an_item_that_arrives_meanwhile_releases_the_buffered_end() -> None:
    async with stage() as setup:
        assert setup.on_notification(STATUS, status={"type": "systemError"})
        assert not setup.on_notification("item/completed")
        assert setup.methods == [STATUS]


async def test_an_error_that_codex_tries_to_mend_is_no_end() -> None:
    async with stage() as setup:
        assert not setup.on_notification("error", error=OVERFLOW, willRetry=True)


async def test_another_turn_ends_the_one_before() -> None:
    async with stage() as setup:
        setup.fail()
        assert not setup.on_notification("turn/started", turn={"id": "turn-2"})
        assert (setup.methods, setup.superseded) == (END, [THREAD])


async def test_a_codex_that_dies_in_the_middle_of_it_has_said_what_it_said() -> None:
    async with stage() as setup:
        assert setup.on_notification(STATUS, status={"type": "systemError"})
        assert setup.on_notification("error", error=OVERFLOW, willRetry=False)
        setup.endings.forget_epoch()
        assert setup.methods == END[:2]


async def test_a_recovery_that_cannot_be_written_down_never_happens() -> None:
    async with stage() as setup:
        writer = setup.registry.loaded(THREAD)
        assert writer is not None
        setup.disk.fill()
        setup.fail()
        await setup.is_told(3)
        assert setup.methods == END
        setup.disk.free()
        await writer.flush()
        assert setup.disk.written().operation is None


async def test_no_recovery_begins_while_nothing_can_be_written_down() -> None:
    async with stage() as setup:
        writer = setup.registry.loaded(THREAD)
        assert writer is not None
        writer.read_only = "it is damaged"
        setup.fail()
        assert setup.methods == END
        writer.read_only = None
