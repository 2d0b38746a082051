"""The two ways to reach Codex, to compare them."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from trimpoint.testkit import ModelRequest

from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.dialect import Transcript
from tests.e2e.wire import connect_socket, connect_to_codex

# A difference that has to be: who began the thread.
ORIGINATOR = ".originator: test → trimpoint"


class Side:
    """A way to reach Codex, directly or through a daemon. Each connection has its own process."""

    def __init__(self, harness: Harness, *, through_daemon: bool) -> None:
        self.harness = harness
        self.ids: dict[str, str] = {}
        self._through_daemon = through_daemon

    async def opened(self, stack: AsyncExitStack) -> Transcript:
        if self._through_daemon:
            await stack.enter_async_context(self.harness.daemon())
            wire = await stack.enter_async_context(connect_socket(self.harness.socket))
        else:
            wire = await stack.enter_async_context(connect_to_codex(self.harness))
        await wire.initialize()
        return Transcript(wire, self.ids)

    async def turn(self, talk: Transcript, thread_id: str, prompt: str) -> None:
        await talk.turn(thread_id, prompt)
        talk.note(
            f"what the model is shown in {prompt}", shown(self.harness.model.turn_requests()[-1])
        )


def shown(request: ModelRequest) -> dict[str, Any]:
    """Returns the parts of a model request that have to be the same."""
    body = request.body
    items = [
        [item.get("role"), [part.get("text") for part in item.get("content") or ()]]
        for item in request.input
    ]
    return {"model": body["model"], "reasoning": body.get("reasoning"), "input": items}


async def both(life: Callable[[Side], Awaitable[Transcript]]) -> tuple[Transcript, Transcript]:
    """Returns the transcripts of `life` directly with Codex and through a daemon."""
    async with opened_harness() as harness:
        direct = await life(Side(harness, through_daemon=False))
    async with opened_harness() as harness:
        return direct, await life(Side(harness, through_daemon=True))
