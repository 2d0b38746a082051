"""Requests that Codex refuses for a moment, while it stores or archives what they need."""

import pytest
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.threads.thread_requests import once_stored

pytestmark = pytest.mark.anyio

# It names a file of the thread before this one (measured: 0.163).
MOVING = "failed to list thread history: failed to read lineage metadata /r.jsonl: No such file"
REFUSALS = 3


class Codex:
    """Refuses a few times, then answers."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.asked <= REFUSALS:
            raise ProviderError(-32603, self.problem, None, Raw(b"{}"))
        return "the answer"


async def test_a_thread_is_asked_about_again_while_the_one_before_it_is_archived() -> None:
    codex = Codex(MOVING)
    assert await once_stored(ThreadState(), codex.ask) == "the answer"


async def test_what_will_not_pass_is_told_at_once() -> None:
    codex = Codex("no rollout found")
    with pytest.raises(ProviderError):
        await once_stored(ThreadState(), codex.ask)
    assert codex.asked == 1
