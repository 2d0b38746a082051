"""Connections that send arbitrary bytes, and checks that the daemon still works afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, connect_socket

STRANGER = "01900000-0000-7000-8000-000000000000"


# Only what Codex answers is at hand here: it uses one code for nearly everything (measured: 0.163).
CODEX_REFUSES = -32600


INPUT = [{"type": "text", "text": "hello"}]


@asynccontextmanager
async def speaking(harness: Harness) -> AsyncIterator[JsonRpcClient]:
    """Yields an initialized client. At the end, checks that it and a new client are still
    served.
    """
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        yield wire
        await works(wire)
        await works_for_another(harness)


async def works(wire: JsonRpcClient) -> None:
    """Checks that the daemon answers the client, and that Codex does."""
    assert (await wire.result("sidecar/status"))["codex"]["state"] == "connected"
    assert (await wire.result("model/list"))["data"]


async def works_for_another(harness: Harness) -> None:
    async with connect_socket(harness.socket) as other:
        await other.initialize("another")
        await works(other)


async def started(wire: JsonRpcClient, harness: Harness) -> str:
    answer = await wire.result(
        "thread/start",
        cwd=str(harness.worktree),
        approvalPolicy="never",
        sandbox="danger-full-access",
    )
    return str(answer["thread"]["id"])
