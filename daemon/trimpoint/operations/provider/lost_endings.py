"""Ends turns whose end Codex never reports, so that no thread stays busy for ever.

Codex reports that a thread is idle, and then that its turn has ended. If the second report is
missing, or an interrupt is refused or has no effect, Codex is asked how the turn ended. If it does
not tell, the turn ends as interrupted, with the reason as its error. Each wait is bounded.

Codex acknowledges an interrupt in the first moments of a turn and forgets it (measured: 0.163). So
an interrupt is repeated until the turn has ended.
"""

from typing import Any, NamedTuple

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.history.rollout import NO_ITEMS
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.history.adoption import turn_facts
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.routing.sub_agents import status_type
from trimpoint.operations.routing.thread_messages import is_resting
from trimpoint.operations.routing.turn_end_buffer import ENDED
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

NEVER_TOLD = "Codex is idle and never reported how the turn ended."
NOT_ENDED = "Codex took the interrupt and did not end the turn. It may still be at work on it."
DENIED = "Codex has no such turn running and never reported how it ended."
REPEATED = "the interrupt is repeated"
NOT_ANSWERED = "Codex did not answer the interrupt. It may still be at work on the turn."
# An interrupted session lacks the end of one turn, or of a few if prompts were queued.
_NEWEST_TURNS = 25
_FIRST_REPEAT_S, _LAST_REPEAT_S = 0.1, 1.0
# How long Codex may take to know a turn that it has announced.
_BEGINNING_S = 1.0


class EndingLimits(NamedTuple):
    """The longest waits, in seconds: for the end of a turn after Codex is idle, for its end after
    an accepted interrupt, and for an answer of Codex.
    """

    after_rest_s: float = 5.0
    after_interrupt_s: float = 15.0
    answer_s: float = 10.0


class LostEndings:
    """Watches for lost endings. The waiting tasks run in `tasks`."""

    def __init__(
        self,
        registry: ThreadRegistry,
        threads: ProviderThreads,
        limits: EndingLimits,
        tasks: TaskGroup,
    ) -> None:
        self.limits = limits
        self._registry = registry
        self._threads = threads
        self._tasks = tasks
        self._watched: set[tuple[str, str]] = set()
        threads.router.subscribe_rest(self._rested)

    def interrupted(self, thread_id: str, turn_id: str) -> None:
        """Starts the wait for the turn's end, after Codex has answered an interrupt. Meanwhile the
        interrupt is repeated.
        """
        self._repeat_for(thread_id, turn_id)
        self._watch_for(thread_id, turn_id, self.limits.after_interrupt_s, NOT_ENDED)

    async def interrupted_at_last(self, thread_id: str, turn_id: str) -> bool:
        """Repeats an interrupt that Codex has refused, because it does so in the first moments of a
        turn. Returns whether Codex has accepted one; False also if the turn has ended meanwhile.
        """
        return await self._repeat(thread_id, turn_id, _BEGINNING_S, until_accepted=True)

    async def stop(self, thread_id: str, turn_id: str) -> None:
        """Interrupts a turn that may have only just begun, and sees to it that it ends."""
        entries = self.entries_of(thread_id)
        if await self.interrupted_at_last(thread_id, turn_id):
            self.interrupted(thread_id, turn_id)
        else:
            self.denied(thread_id, turn_id, entries)

    def entries_of(self, thread_id: str) -> int:
        """Returns how many entries the thread has; more of them mean that its turn goes on."""
        writer = self._registry.loaded(thread_id)
        return 0 if writer is None else len(writer.state.entries)

    def denied(self, thread_id: str, turn_id: str, entries: int) -> None:
        """Starts the wait for the turn's end, after Codex has answered that the turn is not
        running. The turn may have only just begun; then the thread gets more entries than the
        `entries` that it had before the interrupt.
        """
        self._repeat_for(thread_id, turn_id)
        self._watch_for(thread_id, turn_id, self.limits.after_rest_s, DENIED, entries)

    async def end(self, thread_id: str, turn_id: str, why: str) -> None:
        """Ends a turn about which Codex reports nothing more, unless it has ended; `why` is its
        error if Codex does not know how it ended.

        :raises ThreadError: when the thread cannot be opened.
        """
        writer = await self._registry.thread(thread_id)
        if _runs(writer.state, turn_id):
            turn = await self._as_codex_has_it(writer.state, turn_id)
            if _runs(writer.state, turn_id):
                self._end(writer, turn_id, turn, why)

    def _repeat_for(self, thread_id: str, turn_id: str) -> None:
        if (turn_id, REPEATED) not in self._watched:
            self._watched.add((turn_id, REPEATED))
            spawn(self._tasks, self._repeat_watched, thread_id, turn_id)

    async def _repeat_watched(self, thread_id: str, turn_id: str) -> None:
        try:
            await self._repeat(thread_id, turn_id, self.limits.after_interrupt_s)
        finally:
            self._watched.discard((turn_id, REPEATED))

    async def _repeat(
        self, thread_id: str, turn_id: str, within_s: float, *, until_accepted: bool = False
    ) -> bool:
        """Repeats an interrupt until the turn has ended, or until Codex accepts one. Returns
        whether it did so.
        """
        pause_s = _FIRST_REPEAT_S
        with anyio.move_on_after(within_s):
            while True:
                await anyio.sleep(pause_s)
                writer = self._registry.loaded(thread_id)
                if writer is None or not _may_run(writer.state, turn_id):
                    return False
                answer = await self._ask("turn/interrupt", _named(writer.state, turn_id))
                if until_accepted and answer is not None:
                    return True
                pause_s = pause_s if until_accepted else min(2 * pause_s, _LAST_REPEAT_S)
        return False

    def _rested(self, thread_id: str) -> None:
        writer = self._registry.loaded(thread_id)
        running = writer.state.running_turn_id if writer is not None else None
        turn_id = running or self._threads.router.begun(thread_id)
        if turn_id is not None:
            self._watch_for(thread_id, turn_id, self.limits.after_rest_s, NEVER_TOLD)

    def _watch_for(
        self, thread_id: str, turn_id: str, within_s: float, why: str, entries: int = 0
    ) -> None:
        writer = self._registry.loaded(thread_id)
        if writer is None or (turn_id, why) in self._watched:
            return
        if not (_runs(writer.state, turn_id) or self._is_told_only(writer.state, turn_id)):
            return
        self._watched.add((turn_id, why))
        spawn(self._tasks, self._watch, thread_id, turn_id, within_s, why, entries)

    async def _watch(
        self, thread_id: str, turn_id: str, within_s: float, why: str, entries: int
    ) -> None:
        try:
            writer = self._registry.loaded(thread_id)
            is_refused = writer is not None and self._is_told_only(writer.state, turn_id)
            await anyio.sleep(within_s)
            writer = self._registry.loaded(thread_id)
            while writer is not None and is_refused and not writer.is_quiescent:
                await anyio.sleep(within_s)  # its end may wait for the disk too
                writer = self._registry.loaded(thread_id)
            if writer is not None and self._is_told_only(writer.state, turn_id):
                return self._tell_end(writer, {"id": turn_id}, why)  # it was taken back
            if writer is None or not _runs(writer.state, turn_id):
                return None
            goes_on = why == NEVER_TOLD or (why == DENIED and len(writer.state.entries) > entries)
            if goes_on and await self._is_at_work(writer.state):
                return None
            await self.end(thread_id, turn_id, why)
        except ThreadError as error:
            log.warning("turn_not_ended", thread_id=thread_id, turn_id=turn_id, detail=str(error))
        finally:
            self._watched.discard((turn_id, why))

    def _is_told_only(self, state: ThreadState, turn_id: str) -> bool:
        """Returns whether clients were told that the turn has begun, and the ledger lacks it."""
        return turn_id not in state.turn_index and self._threads.router.begun(state.id) == turn_id

    async def _is_at_work(self, state: ThreadState) -> bool:
        """Returns whether Codex is working on the thread again. Returns False if Codex does not
        answer.
        """
        params = {"threadId": state.generation.provider_thread_id, "includeTurns": False}
        thread = as_dict(as_dict(await self._ask("thread/read", params)).get("thread"))
        return bool(thread) and not is_resting(status_type(thread.get("status")))

    async def _as_codex_has_it(self, state: ThreadState, turn_id: str) -> dict[str, Any]:
        """Returns the turn in Codex's display form, or an object with only its id if Codex does not
        have it or does not answer.
        """
        provider_turn_id = _provider_turn_id(state, turn_id)
        params = {
            "threadId": state.generation.provider_thread_id,
            "itemsView": "full",
            "limit": _NEWEST_TURNS,
        }
        listed = as_dict(await self._ask("thread/turns/list", params))
        turns = map(as_dict, as_list(listed.get("data")))
        return next(
            (turn for turn in turns if turn.get("id") == provider_turn_id), {"id": provider_turn_id}
        )

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Returns what Codex answers, or None if it refuses or does not answer."""
        try:
            raw = await self._threads.link.request(method, params, deadline_s=self.limits.answer_s)
        except ProviderFailure as error:
            log.info("lost_turn_not_read", method=method, detail=str(error))
            return None
        return as_dict(msgspec.json.decode(raw))

    def _end(self, writer: ThreadWriter, turn_id: str, turn: dict[str, Any], why: str) -> None:
        log.warning(
            "turn_ended_for_codex",
            thread_id=writer.thread_id,
            turn_id=turn_id,
            status=turn.get("status"),
            reason=why,
        )
        ended = _ended(turn, why)
        # The last items may be missing, so `turn_facts` marks the turn's items to be read from the
        # rollout.
        generation = writer.state.turns[writer.state.turn_index[turn_id]].generation
        facts = tuple(turn_facts(ended, generation, NO_ITEMS))
        self._threads.router.record_facts(writer, facts)
        self._tell_end(writer, ended, why)
        # The next use reads back the missed notifications.
        self._threads.forget(str(writer.state.generation.provider_thread_id))

    def _tell_end(self, writer: ThreadWriter, turn: dict[str, Any], why: str) -> None:
        provider_id, router = writer.state.generation.provider_thread_id, self._threads.router
        for method, params in _as_codex_reports(_ended(turn, why)):
            if provider_id is None:  # a trim begins a session at this moment
                router.notify(writer.thread_id, method, params)
            else:
                router.route(CodexMessage.compose(method, {"threadId": provider_id, **params}))


def _runs(state: ThreadState, turn_id: str) -> bool:
    at = state.turn_index.get(turn_id)
    return at is not None and state.turns[at].status == "running"


def _may_run(state: ThreadState, turn_id: str) -> bool:
    """Returns whether the turn is running, or may be one that Codex has accepted and not begun."""
    return _runs(state, turn_id) or (turn_id not in state.turn_index and bool(state.turn_requests))


def _provider_turn_id(state: ThreadState, turn_id: str) -> str:
    at = state.turn_index.get(turn_id)
    return (state.turns[at].provider_turn_id if at is not None else None) or turn_id


def _named(state: ThreadState, turn_id: str) -> dict[str, Any]:
    provider_id = state.generation.provider_thread_id
    return {"threadId": provider_id, "turnId": _provider_turn_id(state, turn_id)}


def _ended(turn: dict[str, Any], why: str) -> dict[str, Any]:
    if turn.get("status") in ("completed", "interrupted", "failed"):
        return turn
    error = {"message": why, "codexErrorInfo": None, "additionalDetails": None}
    return {**turn, "status": "interrupted", "error": error}


def _as_codex_reports(ended: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    times = {"startedAt": None, "completedAt": None, "durationMs": None}
    turn: dict[str, Any] = {**times, **ended, "items": [], "itemsView": "notLoaded"}
    return [("thread/status/changed", {"status": {"type": "idle"}}), (ENDED, {"turn": turn})]
