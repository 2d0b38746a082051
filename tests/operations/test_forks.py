"""A fork that is made from the ledger has what its parent has at one moment."""

from typing import Any

import anyio
import pytest
from trimpoint.core.model import commands as internal
from trimpoint.gateway.methods.threads import forks
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol.commands import TrimContext

from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD, turn


async def cleared(stage: Stage, *turns: str) -> ThreadWriter:
    """Returns a thread whose turns lie before a trim: forks at them are made from the ledger."""
    writer = await stage.thread(*turns)
    trim = TrimContext(command_id="clear", thread_id=THREAD)
    await stage.operations.sessions.dispatch(trim)
    await stage.ended(writer)
    return writer


def reverted_meanwhile(monkeypatch: pytest.MonkeyPatch, writer: ThreadWriter, *then: str) -> None:
    """Takes T2 back while the items of a fork are completed; other turns follow."""
    inner = forks.complete_context

    async def complete_context(*given: Any) -> Any:
        lost = await inner(*given)
        writer.submit(internal.RollBackTurns("T2", provider_did=True))
        writer.record_facts(*(fact for one in then for fact in turn(one)))
        await anyio.lowlevel.checkpoint()
        return lost

    monkeypatch.setattr(forks, "complete_context", complete_context)


@pytest.mark.parametrize("then", [(), ("T3",)])
async def test_a_fork_at_a_turn_that_is_taken_back_as_it_is_made_is_refused(
    monkeypatch: pytest.MonkeyPatch, then: tuple[str, ...]
) -> None:
    async with opened_stage() as stage:
        writer = await cleared(stage, "T1", "T2")
        reverted_meanwhile(monkeypatch, writer, *then)
        made = stage.codex.count("thread/start")
        with pytest.raises(Refusal, match="taken back"):
            await stage.ask("thread/fork", lastTurnId="T2")
        assert stage.codex.count("thread/start") == made
