"""Kills Codex while the daemon writes a certain event, an instant that a test could not hit
otherwise.
"""

import os
import signal

import anyio
import pytest
from trimpoint.core.model import events as ev
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.threads.writing.writer import ThreadWriter

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

GONE_DEADLINE_S = STEP_S


def codex_dies_while_writing(
    monkeypatch: pytest.MonkeyPatch, harness: Harness, event: type[ev.Event]
) -> None:
    """Kills Codex the first time that `event` is decided, and delays the write until the daemon has
    noticed.
    """
    settle, epoch_ended = ThreadWriter.flush, NotificationRouter.on_epoch_ended
    gone = anyio.Event()
    killed: list[int] = []

    def notice(self: NotificationRouter, epoch: int, reason: str) -> None:
        epoch_ended(self, epoch, reason)
        gone.set()

    async def settle_late(self: ThreadWriter) -> None:
        waiting = [
            one for unpublished in vars(self)["_unpublished"] for one in unpublished.record.events
        ]
        if not killed and any(isinstance(one, event) for one in waiting):
            killed.append(harness.child_pid())
            os.kill(killed[0], signal.SIGKILL)
            with anyio.fail_after(GONE_DEADLINE_S):
                await gone.wait()
        await settle(self)

    monkeypatch.setattr(NotificationRouter, "on_epoch_ended", notice)
    monkeypatch.setattr(ThreadWriter, "flush", settle_late)
