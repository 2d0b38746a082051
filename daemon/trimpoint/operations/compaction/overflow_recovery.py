"""Repeats a turn that did not fit, once, with the oldest part of the context summarized
(docs/spec/context.md, docs/adr/0012).

Always true: nothing of the thread changes before the model has begun to answer in the smaller
context. Until then, everything happens on provider threads that are hidden from clients and deleted
afterwards. From then on, the turn is an ordinary turn.
"""

import time
from typing import Any

import anyio
import anyio.to_thread

from trimpoint.codex.history.rollout import since_compaction
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.context.provider_compactions import COMPACTION
from trimpoint.core.context.summary_items import summary_item
from trimpoint.core.decide.overflow import (
    OverflowPlan,
    ProviderCompaction,
    compacted_by_codex,
    plan_overflow,
)
from trimpoint.core.decide.trimming import summarizer_guidance
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import CompleteRecovery
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint.operations.compaction.answer_watch import AnswerWatch
from trimpoint.operations.compaction.compaction import CompactionFailed
from trimpoint.operations.compaction.summarizing import summarize
from trimpoint.operations.messages import recovered_message
from trimpoint.operations.phases import complete_context, journal_phase
from trimpoint.operations.provider.provider_threads import ProviderThreads, Thread
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.session_uses import SessionUses
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.writing.writer import ThreadWriter

BEGUN = (
    "The context window is full. The oldest part of the conversation is being summarized, then the "
    "turn continues."
)


class _Attempt:
    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.why = ""


class OverflowRecovery:
    """Runs operations of the kind "overflow". `deadline_s` is the limit for the summary, in
    seconds.
    """

    def __init__(self, threads: ProviderThreads, uses: SessionUses, deadline_s: float) -> None:
        self._threads = threads
        self._uses = uses
        self._deadline_s = deadline_s
        self._attempts: dict[str, _Attempt] = {}
        threads.router.turn_ends.subscribe_superseded(
            lambda thread_id: self._stop(thread_id, "another prompt was begun")
        )

    def interrupt(self, thread_id: str) -> None:
        """Ends the recovery at a person's request; the turn's failure then stands."""
        self._stop(thread_id, "it was interrupted")

    async def step(self, writer: ThreadWriter, operation: Operation) -> None:
        """Runs the operation to its end.

        :raises CompactionFailed: when the turn's failure stands and nothing has changed; the
            message is for a person.
        :raises ProviderFailure: when Codex ended or did not answer, with the same effect.
        :raises JournalRefuses: when the journal cannot be written; call it again until the
            operation has ended.
        """
        if operation.phase is not Phase.REQUESTED or not self._threads.router.turn_ends.is_buffered(
            writer.thread_id
        ):
            await self._threads.delete_quietly(operation.compaction_fork)
            raise CompactionFailed("it was broken off")
        attempt = self._attempts[writer.thread_id] = _Attempt()
        try:
            with attempt.scope:
                await self._recover(writer, operation)
        except JournalRefuses:
            # The disk may stay full for a long time; clients are told at once that the turn has
            # failed.
            self._threads.router.turn_ends.release(writer.thread_id)
            raise
        finally:
            self._attempts.pop(writer.thread_id, None)
        if attempt.scope.cancelled_caught:
            raise CompactionFailed(attempt.why)

    def _stop(self, thread_id: str, why: str) -> None:
        attempt = self._attempts.get(thread_id)
        if attempt is not None:
            attempt.why = why
            attempt.scope.cancel()

    async def _recover(self, writer: ThreadWriter, operation: Operation) -> None:
        began, turn_id = time.monotonic(), str(operation.failed_turn_id)
        lost = await complete_context(writer, writer.state.active_turns)
        plan = plan_overflow(writer.state, turn_id, await self._compaction(writer.state))
        if plan is None:
            raise CompactionFailed(
                "the conversation before it is too short to be summarized in part"
            )
        say = self._threads.router.notify
        say(writer.thread_id, "warning", {"message": BEGUN})
        say(writer.thread_id, "item/started", _compaction(operation, "startedAtMs"))
        await journal_phase(
            writer, operation, Phase.COMPACTING, "Summarizing the oldest part of the context."
        )
        summary = await self._summary(writer, operation, plan)
        if estimate_tokens(summary_item(summary, plan.messages)) >= plan.before_tokens:
            raise CompactionFailed("the summary is no shorter than what it stands for")
        await self._retry(writer, operation, plan, summary, lost, began)

    async def _compaction(self, state: ThreadState) -> ProviderCompaction | None:
        if not compacted_by_codex(state):
            return None
        path = state.generation.rollout_path
        found = (
            since_compaction(await anyio.to_thread.run_sync(conversation_lines, path))
            if path is not None
            else None
        )
        if found is None:
            raise CompactionFailed(
                "Codex had compacted the context, and what it holds since cannot be read"
            )
        items, since = found
        return ProviderCompaction(
            items,
            {state.turn_aliases.get(turn_id, turn_id): count for turn_id, count in since.items()},
        )

    async def _summary(self, writer: ThreadWriter, operation: Operation, plan: OverflowPlan) -> str:
        scratch = await self._threads.start_temporary(writer)
        try:
            await self._note(writer, operation, scratch.id)
            await self._threads.inject(scratch.id, plan.before)
            guidance = summarizer_guidance(writer.state, None)
            summary = await summarize(self._threads, writer, scratch, guidance, self._deadline_s)
        finally:
            with anyio.CancelScope(shield=True):
                await self._threads.delete_quietly(scratch.id)
        if summary is None:
            raise CompactionFailed("only Codex can read the summary")
        return summary

    async def _note(self, writer: ThreadWriter, operation: Operation, provider_id: str) -> None:
        """Records the provider thread durably while it is still empty. Codex lists no empty thread,
        and a filled one must not become visible.
        """
        writer.record_facts(ev.CompactionForked(operation.id, provider_id))
        await writer.flush()

    async def _retry(
        self,
        writer: ThreadWriter,
        operation: Operation,
        plan: OverflowPlan,
        summary: str,
        lost: list[str],
        began: float,
    ) -> None:
        watch = AnswerWatch()
        thread = await self._threads.start_candidate(writer, watch)
        provider_id, goes_on = str(thread["id"]), False
        try:
            await self._note(writer, operation, provider_id)
            await journal_phase(writer, operation, Phase.RETRYING, "Trying the turn again.")
            # In this phase, no further request changes what is carried over.
            await self._uses.ended(writer.thread_id)
            not_carried = [*await self._fill(writer, plan, summary, provider_id), *lost]
            prompt = self._threads.prompts.of(writer.state, str(operation.failed_turn_id))
            await self._threads.link.request("turn/start", {**prompt, "threadId": provider_id})
            await watch.answered()
            if not self._threads.router.is_quarantined(provider_id):
                raise CompactionFailed(
                    "Codex went away"
                )  # clients would never receive the end of the turn
            took_ms = round((time.monotonic() - began) * 1000)
            with anyio.CancelScope(shield=True):
                message = recovered_message(writer.state, plan.messages, not_carried)
                await writer.execute(
                    _completed(
                        operation, plan, summary, took_ms, thread, str(watch.turn_id), message
                    )
                )
            goes_on = True
            self._continue(writer, operation, provider_id)
        finally:
            if not goes_on:
                with anyio.CancelScope(shield=True):
                    await self._threads.delete_quietly(provider_id)
        await self._uses.ended(writer.thread_id)  # a client may be attaching to it
        await self._threads.archive_previous(writer)

    async def _fill(
        self, writer: ThreadWriter, plan: OverflowPlan, summary: str, provider_id: str
    ) -> list[str]:
        """Injects the smaller context and carries over the thread's properties. Returns
        descriptions of those that could not be carried over.
        """
        await self._threads.inject(provider_id, [summary_item(summary, plan.messages), *plan.after])
        previous = writer.state.generation.provider_thread_id
        return await self._threads.inherit_state(writer, previous, provider_id)

    def _continue(self, writer: ThreadWriter, operation: Operation, provider_id: str) -> None:
        """Makes the new provider thread serve the thread, and sends its held-back notifications to
        clients.

        It must not await, or notifications would be sent out of order.
        """
        router, state = self._threads.router, writer.state
        self._attempts.pop(writer.thread_id, None)
        router.turn_ends.forget(writer.thread_id)
        previous = state.generations[-2]
        router.bind(
            str(previous.provider_thread_id),
            Route(writer.thread_id, ThreadRole.RETIRED, previous.number),
        )
        route = Route(writer.thread_id, ThreadRole.CURRENT, state.generation.number)
        self._threads.use(provider_id, route)
        router.watches.pop(provider_id, None)
        take_quarantined = router.take_quarantined(provider_id)
        if take_quarantined is None:
            return  # Codex ended while the record was written, and clients know the turn ended
        router.notify(writer.thread_id, "item/completed", _compaction(operation, "completedAtMs"))
        turn = state.turns[state.turn_index[str(operation.failed_turn_id)]]
        for message in take_quarantined:
            self._forward(message, route, str(turn.provider_turn_id))

    def _forward(self, message: CodexMessage, route: Route, provider_turn_id: str) -> None:
        """Passes on a held-back message. Notifications that repeat the prompt are not sent to
        clients, but the prompt's raw items are recorded.
        """
        router = self._threads.router
        if message.request_id is not None:
            router.on_server_request(message.request_id, message.method, message.params)
        elif not _is_forwarded(message, provider_turn_id):
            router.route(message)
        elif message.method == "rawResponseItem/completed":
            router.record(route, message)


def _is_forwarded(message: CodexMessage, provider_turn_id: str) -> bool:
    match message.method:
        case "turn/started":
            return True
        case "item/started" | "item/completed":
            return message.object("item").get("type") == "userMessage"
        case "rawResponseItem/completed":
            repeats = message.object("item").get("role") in ("user", "developer")
            return repeats or bool(message.member("turnId") != provider_turn_id)
        case _:
            return False


def _compaction(operation: Operation, at: str) -> dict[str, Any]:
    """Returns the parameters of an item notification, as Codex would send it for a compaction of
    its own within a turn.
    """
    item = {"type": COMPACTION, "id": operation.id}
    return {"turnId": operation.failed_turn_id, "item": item, at: round(time.time() * 1000)}


def _completed(
    operation: Operation,
    plan: OverflowPlan,
    summary: str,
    took_ms: int,
    thread: Thread,
    provider_turn_id: str,
    message: str,
) -> CompleteRecovery:
    cut = (plan.messages, plan.first_kept_turn_id, plan.skipped_items)
    serving = (str(thread["id"]), thread.get("path"), provider_turn_id)
    return CompleteRecovery(
        operation.id, summary, took_ms, *cut, *serving, message, plan.pruned_injected
    )
