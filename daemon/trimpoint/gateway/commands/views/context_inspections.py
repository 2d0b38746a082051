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
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.advice import trim_advice
from trimpoint.core.views.inspection_view import inspection, inspection_text
from trimpoint.gateway.commands.slash_outcomes import outcome
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
        found = await self._inspected(writer)
        return outcome(Context.command, inspection_text(found, self._advice(writer)))

    async def _inspect(self, call: Call, params: ThreadParams) -> ContextInspection:
        return await self._inspected(await self._with_items(params.thread_id))

    async def _advise(self, call: Call, params: ThreadParams) -> ContextAdvice:
        writer = await self._with_items(params.thread_id)
        return self._advice(writer)

    def _advice(self, writer: ThreadWriter) -> ContextAdvice:
        return trim_advice(writer.state, self._engine.policy, new_stamp().now_ms)

    async def _with_items(self, thread_id: str) -> ThreadWriter:
        owner: str | None = self._engine.owner_of(thread_id)
        writer = await self._engine.thread(owner or thread_id)
        if writer.read_only is None:
            await self._sessions.complete_context(writer)
        return writer

    async def _inspected(self, writer: ThreadWriter) -> ContextInspection:
        state = writer.state
        generation = state.generation
        items = await _items_in(generation.rollout_path)
        predicted = not items
        if predicted:
            items = [*own_beginning(await _items_before(state)), *conversation_items(state)]
        return inspection(
            state,
            self._engine.policy,
            as_sent(items),
            predicted=predicted and len(state.generations) > 1,
        )


async def _items_in(rollout_path: str | None) -> list[bytes]:
    if rollout_path is None:
        return []
    return model_input(await anyio.to_thread.run_sync(conversation_lines, rollout_path))


async def _items_before(state: ThreadState) -> list[bytes]:
    """Returns the raw items of the newest earlier generation that has a rollout with items; empty
    if there is none.
    """
    for generation in reversed(state.generations[:-1]):
        if items := await _items_in(generation.rollout_path):
            return items
    return []
