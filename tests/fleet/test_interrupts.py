"""What an interrupt of a person on another machine ends."""

from typing import Any, cast

import anyio
import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.fleet.commands.answering import Answering
from trimpoint.fleet.commands.requests import FleetAnswer
from trimpoint.fleet.hub.connection import Hub
from trimpoint.fleet.names import Names, inbox_of

from tests.operations.stage import opened_stage
from tests.threads.stage import THREAD

TEAM = Names("team")


class FakeHub:
    """Delivers messages to whoever subscribes, and keeps what is published."""

    def __init__(self) -> None:
        self.published: list[bytes] = []
        self.last = anyio.Event()

    async def subscribe(self, subject: str, on_message: Any) -> None:
        self.on_message = on_message

    async def publish(self, subject: str, data: bytes) -> None:
        self.published.append(data)
        if len(self.published) == 2:  # behind that it has begun
            self.last.set()


class Cancelling:
    """Answers `commands/cancel`, and keeps what was asked."""

    def __init__(self, cancelled: bool) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._cancelled = cancelled

    async def call_extension(self, method: str, params: msgspec.Raw | None, call: Any) -> bytes:
        assert params is not None
        self.asked.append((method, msgspec.json.decode(params)))
        return b'{"cancelled":true}' if self._cancelled else b'{"cancelled":false}'


@pytest.mark.parametrize(
    ("kind", "cancelled", "said"),
    [
        ("compact", True, "The compaction was cancelled."),
        ("compact", False, "No turn is running."),  # its summary has arrived
        ("clear", False, "No turn is running."),
        (None, False, "No turn is running."),
    ],
)
async def test_the_daemon_decides_whether_an_operation_can_be_cancelled(
    kind: str | None, cancelled: bool, said: str
) -> None:
    hub, methods = FakeHub(), Cancelling(cancelled)
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        stage.codex.hold("thread/backgroundTerminals/list")
        if kind is not None:
            writer.record_facts(ev.OperationStarted("o", kind))
        answering = Answering("desk", TEAM, methods, stage.registry, cast("Any", None))
        await answering.run(cast("Hub", hub), stage.tasks)
        command = msgspec.json.encode({"threadId": THREAD, "commandId": "c"})
        subject = TEAM.commands("desk", "alice", "interrupt")
        await hub.on_message(subject, f"{inbox_of('alice')}.1", command)
        await hub.last.wait()
    answer = msgspec.json.decode(hub.published[-1], type=FleetAnswer)
    assert answer.outcome is not None
    assert answer.outcome.message == said
    assert methods.asked == [("commands/cancel", {"operationId": "o"})] * (kind is not None)
