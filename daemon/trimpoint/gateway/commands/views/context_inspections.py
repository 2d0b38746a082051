"""Handles `context/inspect`, `context/advice` and `/context`: what the model's next input holds,
and how to make it smaller.
"""

import anyio.to_thread
from trimpoint_protocol.methods import (
    CommandOutcome,
    ContextAdvice,
    ContextInspection,
    ThreadParams,
)

from trimpoint.codex.history.model_input import model_input, own_beginning
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.core.commands.looking import Context
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.inspection import as_sent
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.advice import trim_advice
from trimpoint.core.views.inspection_view import inspection, inspection_text
from trimpoint.gateway.commands.slash_outcomes import outcome
from trimpoint.gateway.commands.views.off_loop import off_loop
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.sequencer import new_stamp
from trimpoint.threads.writing.writer import ThreadWriter


class ContextInspections:
    """Answers inspections. `table` maps method names to handlers. No handler changes a thread."""

    def __init__(self, engine: ThreadRegistry, sessions: Sessions) -> None:
        self._engine = engine
        self._sessions = sessions
        self.table: dict[str, Handler] = {
            "context/inspect": self._inspect,
            "context/advice": self._advise,
        }

    async def run(self, thread_id: str) -> CommandOutcome:
        """Returns the outcome of `/context`.

        :raises EngineError: when there is no such thread, or its journal cannot be read.
        """
        writer = await self._with_items(thread_id)
        found, advice = await self._inspected(writer), await self._advice(writer)
        return outcome(Context.command, inspection_text(found, advice))

    async def _inspect(self, call: Call, params: ThreadParams) -> ContextInspection:
        return await self._inspected(await self._with_items(params.thread_id))

    async def _advise(self, call: Call, params: ThreadParams) -> ContextAdvice:
        writer = await self._with_items(params.thread_id)
        return await self._advice(writer)

    async def _advice(self, writer: ThreadWriter) -> ContextAdvice:
        policy, now_ms = self._engine.policy, new_stamp().now_ms
        return await off_loop(writer.state, lambda state: trim_advice(state, policy, now_ms))

    async def _with_items(self, thread_id: str) -> ThreadWriter:
        owner: str | None = self._engine.owner_of(thread_id)
        writer = await self._engine.thread(owner or thread_id)
        if writer.read_only is None:
            await self._sessions.complete_context(writer)
        return writer

    async def _inspected(self, writer: ThreadWriter) -> ContextInspection:
        items = await _items_in(writer.state.generation.rollout_path)
        before = [] if items else await _items_before(writer.state)
        policy = self._engine.policy
        return await off_loop(writer.state, lambda state: _inspection(state, policy, items, before))


def _inspection(
    state: ThreadState, policy: Policy, items: list[bytes], before: list[bytes]
) -> ContextInspection:
    predicted = not items
    if predicted:
        items = [*own_beginning(before), *conversation_items(state)]
    was_trimmed = len(state.generations) > 1
    return inspection(state, policy, as_sent(items), predicted=predicted and was_trimmed)


async def _items_in(rollout_path: str | None) -> list[bytes]:
    return [] if rollout_path is None else await anyio.to_thread.run_sync(_read_input, rollout_path)


def _read_input(rollout_path: str) -> list[bytes]:
    return model_input(conversation_lines(rollout_path))


async def _items_before(state: ThreadState) -> list[bytes]:
    """Returns the raw items of the newest earlier generation that has a rollout with items; empty
    if there is none.
    """
    for generation in reversed(state.generations[:-1]):
        if items := await _items_in(generation.rollout_path):
            return items
    return []
