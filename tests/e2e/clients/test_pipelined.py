"""Requests that a client sends without waiting for answers."""

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.wire import connect_socket

pytestmark = pytest.mark.codex

OTHER_MODEL = {"overrides": ['model="other"']}


async def test_requests_sent_without_waiting_are_answered_in_order_by_a_codex_that_starts(
    harness: Harness,
) -> None:
    info = {"clientInfo": {"name": "test", "title": None, "version": "1"}}
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.send({"id": 1, "method": "sidecar/useProfile", "params": OTHER_MODEL})
        await wire.send({"id": 2, "method": "initialize", "params": info})
        await wire.send({"method": "initialized"})
        started = {"cwd": str(harness.worktree)}
        await wire.send({"id": 3, "method": "thread/start", "params": started})
        await wire.answer_to(3)
    answers = [one for one in wire.received if "id" in one]
    assert [one["id"] for one in answers] == [1, 2, 3]
    assert all("result" in one for one in answers)
