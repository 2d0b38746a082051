"""Handles `context/inspect`, `context/advice` and `/context`: what the model's next input holds,
and how to make it smaller.
"""

from typing import NamedTuple

import anyio.to_thread
from trimpoint_protocol.methods import (
    CommandOutcome,
    ContextAdvice,
    ContextInspection,
    ThreadParams,
)

from trimpoint.codex.history.model_input import model_input, model_of_last_turn, own_beginning
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.core.commands.looking import Context
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.inspection import as_sent
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.core.views.advice import trim_advice
from trimpoint.core.views.inspection_view import inspection, inspection_text
from trimpoint.gateway.commands.slash_outcomes import outcome
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.sequencer import now_ms
from trimpoint.threads.writing.writer import ThreadWriter


class ContextInspections:
    """Answers inspections. `table` maps method names to handlers. No handler changes a thread."""

    def __init__(self, registry: ThreadRegistry, sessions: Sessions) -> None:
        self._registry = registry
        self._sessions = sessions
        self.table: dict[str, Handler] = {
            "context/inspect": self._inspect,
            "context/advice": self._advise,
        }

    async def run(self, thread_id: str) -> CommandOutcome:
        """Returns the outcome of `/context`.

        :raises ThreadError: when there is no such thread, or its journal cannot be read.
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
        policy, now = self._registry.policy, now_ms()
        return await off_loop(writer.state, lambda state: trim_advice(state, policy, now))

    async def _with_items(self, thread_id: str) -> ThreadWriter:
        owner: str | None = self._registry.owner_of(thread_id)
        writer = await self._registry.thread(owner or thread_id)
        if writer.read_only is None:
            await self._sessions.complete_context(writer)
        return writer

    async def _inspected(self, writer: ThreadWriter) -> ContextInspection:
        found = await _input_in(writer.state.generation.rollout_path)
        before = [] if found.items else await _items_before(writer.state)
        policy = self._registry.policy
        return await off_loop(writer.state, lambda state: _inspection(state, policy, found, before))


class _Input(NamedTuple):
    """The items of a provider thread's rollout, and the model that its last turn ran with."""

    items: list[bytes]
    model: str | None


def _inspection(
    state: ThreadState, policy: Policy, found: _Input, before: list[bytes]
) -> ContextInspection:
    predicted = not found.items
    items = [*own_beginning(before), *conversation_items(state)] if predicted else found.items
    models = {found.model, model_in(state.settings)}
    return inspection(
        state,
        policy,
        as_sent(items),
        predicted=predicted and len(state.generations) > 1,
        switched=None not in models and len(models) > 1,
    )


async def _input_in(rollout_path: str | None) -> _Input:
    if rollout_path is None:
        return _Input([], None)
    return await anyio.to_thread.run_sync(_read_input, rollout_path)


def _read_input(rollout_path: str) -> _Input:
    lines = conversation_lines(rollout_path)
    return _Input(model_input(lines), model_of_last_turn(lines))


async def _items_before(state: ThreadState) -> list[bytes]:
    """Returns the raw items of the newest earlier generation that has a rollout with items; empty
    if there is none.
    """
    for generation in reversed(state.generations[:-1]):
        if items := (await _input_in(generation.rollout_path)).items:
            return items
    return []
