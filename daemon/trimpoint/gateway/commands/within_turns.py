"""Masks old output between two steps of a turn, where `[context] mid_turn` asks for it: ends the
turn, has old output masked, and goes on by a turn of the daemon's own (docs/spec/context.md).

Always true: a turn is paused only between two steps, when no command runs, nothing is asked and
each prompt was read. A person's stop ends it all, and a person's prompt takes the place of the turn
that would go on. What goes on is kept in memory only, because a daemon or a Codex that dies has
ended the work anyway; the mask itself is an operation, which the next daemon finishes.
"""

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import lacks_method
from trimpoint.core.decide.agent_tools import MASKED_TEXT
from trimpoint.core.decide.auto_masking import measured_size
from trimpoint.core.decide.autopilot import is_between_steps, is_pause_due, may_pause
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import TrimWhenDue
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.commands.queued_prompts import QueuedPrompts
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.operations.provider.lost_endings import LostEndings
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.routing.thread_messages import own_warning
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.sequencer import now_ms
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

IN_VAIN = 2
"""The number of pauses in a row that did not help, after which a thread has no more."""
OFF = "Masking within turns has not helped twice, so it is off for this thread."
BROKE_OFF = "The work has stopped after old output was masked, and goes on when you say so"
NOT_HERE = (
    "This Codex does not say which commands run in the background, so nothing is masked within "
    "turns."
)
# How long the end of an interrupted turn is waited for. It comes within a tenth of a second.
ENDS_WITHIN_S = 30.0


class _Pause:
    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.ended, self.settled = anyio.Event(), anyio.Event()
        self.is_unwanted = False


class WithinTurns:
    """Pauses turns, in tasks of `tasks`."""

    def __init__(
        self,
        registry: ThreadRegistry,
        sessions: Sessions,
        starts: TurnStarts,
        threads: ProviderThreads,
        lost: LostEndings,
        queue: QueuedPrompts,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._starts = starts
        self._threads = threads
        self._lost = lost
        self._queue = queue
        self._pauses_of_router = threads.router.pauses
        self._tasks = tasks
        self._looking: set[str] = set()
        self._changed: set[str] = set()
        self._pauses: dict[str, _Pause] = {}
        self._went_on: dict[str, tuple[str, str]] = {}
        self._sizes: dict[str, int] = {}
        self._in_vain: dict[str, int] = {}
        if registry.policy.mid_turn:
            registry.subscribe(self._on_record)
            registry.keep_in_memory(self.is_in_use)

    def is_in_use(self, thread_id: str) -> bool:
        """Returns whether a turn of the thread may be paused just now."""
        return thread_id in self._looking

    async def stop(self, thread_id: str, turn_id: str) -> bool:
        """Ends, at a person's request, what would go on or goes on after a pause. Returns whether
        there was anything; then the turn has ended, or will. Where Codex did not end it for the
        pause, the person's own interrupt is still to be sent.
        """
        pause = self._pauses.get(thread_id)
        if pause is None:
            paused, goes_on = self._went_on.get(thread_id, ("", ""))
            writer = self._registry.loaded(thread_id)
            runs = writer is not None and writer.state.running_turn_id == goes_on
            if writer is None or turn_id != paused or not runs:
                return False
            await self._lost.stop(thread_id, goes_on)
            return True
        pause.is_unwanted = True
        self._pauses_of_router.end(thread_id)
        with anyio.move_on_after(ENDS_WITHIN_S):
            await pause.ended.wait()
        writer = self._registry.loaded(thread_id)
        return writer is None or writer.state.running_turn_id != pause.turn_id

    async def now(self, thread_id: str, turn_id: str) -> str:
        """Returns the turn that goes on with the work of a paused one, once it does, or `turn_id`
        for any other turn.
        """
        if (pause := self._pauses.get(thread_id)) is not None:
            await pause.settled.wait()
        paused, goes_on = self._went_on.get(thread_id, ("", ""))
        return goes_on if turn_id == paused else turn_id

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        writer = self._registry.loaded(thread_id)
        if writer is None:
            return
        for event in record.events:
            match event:
                case ev.TurnCompleted(turn_id=turn_id):
                    pause = self._pauses.get(thread_id)
                    if pause is not None and pause.turn_id == turn_id:
                        pause.ended.set()
                case ev.UsageReported():
                    self._weigh(writer)
                    # Codex reports it behind the output of the calls (measured: 0.163).
                    self._look_at(writer)
                case ev.ContextItemsRecorded(source="events"):
                    self._look_at(writer)
                case _:
                    pass

    def _look_at(self, writer: ThreadWriter) -> None:
        thread_id = writer.thread_id
        self._changed.add(thread_id)
        if (
            thread_id not in self._looking
            and not self._is_off(thread_id)
            and may_pause(writer.state, self._registry.policy, now_ms())
        ):
            self._looking.add(thread_id)
            spawn(self._tasks, self._look, writer)

    def _is_off(self, thread_id: str) -> bool:
        return self._in_vain.get(thread_id, 0) >= IN_VAIN

    async def _look(self, writer: ThreadWriter) -> None:
        thread_id = writer.thread_id
        try:
            while thread_id in self._changed:
                self._changed.discard(thread_id)
                turn_id = await self._due(writer)
                if turn_id is not None:
                    pause = self._pauses[thread_id] = _Pause(turn_id)
                    await self._pause(writer, pause)
                    self._settle(writer)
        except (ThreadError, ProviderFailure) as error:
            log.warning("not_masked_within_turn", thread_id=thread_id, detail=str(error))
            self._note(writer, helped=False)
            turn = writer.state.turns[-1]
            if thread_id in self._pauses and turn.error_kind == ev.PAUSED:
                self._say(writer, f"{BROKE_OFF}: {error}")
        except Exception:  # the boundary of a task: a defect in it must not end the daemon
            log.exception("mask_within_turn_broke", thread_id=thread_id)
            self._note(writer, helped=False)
        finally:
            self._pauses_of_router.end(thread_id)
            if thread_id in self._pauses:
                self._settle(writer)
            self._looking.discard(thread_id)

    def _settle(self, writer: ThreadWriter) -> None:
        pause = self._pauses.pop(writer.thread_id)
        pause.ended.set()
        pause.settled.set()
        self._starts.before_queue.discard(writer.thread_id)
        self._queue.look_at(writer)

    async def _due(self, writer: ThreadWriter) -> str | None:
        """Returns the running turn if it is to be paused now. Nothing is awaited between the last
        check and the return.
        """
        policy, at_ms = self._registry.policy, now_ms()
        if not await off_loop(writer.state, lambda now: is_pause_due(now, policy, at_ms)):
            return None
        before = _step(writer.state)
        if await self._runs_anything(writer):
            return None
        is_same = _step(writer.state) == before and is_between_steps(writer.state)
        if not is_same or self._starts.has_prompt(writer.state):
            return None
        if self._registry.unfinished_items.has_activity(writer.thread_id):
            return None  # it may be a person's command, which Codex ends with the turn
        if self._is_off(writer.thread_id):  # a report may have come meanwhile
            return None
        return writer.state.running_turn_id

    async def _runs_anything(self, writer: ThreadWriter) -> bool:
        params = {"threadId": writer.state.generation.provider_thread_id}
        try:
            raw = await self._threads.link.request("thread/backgroundTerminals/list", params)
        except ProviderError as error:
            if lacks_method(error):
                self._in_vain[writer.thread_id] = IN_VAIN
                self._say(writer, NOT_HERE)
            return True
        return bool(msgspec.json.decode(raw).get("data"))

    async def _pause(self, writer: ThreadWriter, pause: _Pause) -> None:
        turn_id = pause.turn_id
        extra = self._extra(writer, turn_id)
        report = writer.state.usage.report
        size = report.used if report is not None else 0
        self._pauses_of_router.begin(writer.thread_id, turn_id)
        self._starts.before_queue.add(writer.thread_id)
        await self._interrupt(writer, turn_id)
        with anyio.move_on_after(ENDS_WITHIN_S):
            await pause.ended.wait()
        self._pauses_of_router.end(writer.thread_id)
        turn = writer.state.turns[-1]
        if (turn.id, turn.error_kind) != (turn_id, ev.PAUSED):
            return  # it has ended by itself, or a person has stopped it
        await writer.execute(TrimWhenDue())
        await self._sessions.operation_ended(writer)
        if not pause.is_unwanted:
            self._sizes[writer.thread_id] = size
            await self._go_on(writer, pause, extra)

    async def _interrupt(self, writer: ThreadWriter, turn_id: str) -> None:
        params = {"threadId": writer.state.generation.provider_thread_id, "turnId": turn_id}
        await self._threads.link.request("turn/interrupt", params)

    def _extra(self, writer: ThreadWriter, turn_id: str) -> dict[str, Raw]:
        """Returns what the turn was given for itself alone, so that the next one has it too."""
        given = self._threads.prompts.of(writer.state, turn_id)
        return {
            name: Raw(msgspec.json.encode(given[name]))
            for name in ("outputSchema",)
            if given.get(name) is not None
        }

    async def _go_on(self, writer: ThreadWriter, pause: _Pause, extra: dict[str, Raw]) -> None:
        thread_id = writer.thread_id
        if not await self._starts.start_automatic(
            thread_id, MASKED_TEXT, extra, lambda: not pause.is_unwanted
        ):
            log.info("work_gave_way", thread_id=thread_id)
            return
        goes_on = writer.state.turns[-1].id
        self._went_on[thread_id] = (pause.turn_id, goes_on)
        if pause.is_unwanted:
            await self._lost.stop(thread_id, goes_on)

    def _weigh(self, writer: ThreadWriter) -> None:
        """Looks whether the mask before this report has helped."""
        before = self._sizes.pop(writer.thread_id, None)
        window, used = measured_size(writer.state, self._registry.policy)
        if before is not None and window is not None and used is not None:
            least = self._registry.policy.min_freed * window
            self._note(writer, helped=before - used >= least)

    def _note(self, writer: ThreadWriter, *, helped: bool) -> None:
        thread_id = writer.thread_id
        self._in_vain[thread_id] = 0 if helped else self._in_vain.get(thread_id, 0) + 1
        if self._in_vain[thread_id] == IN_VAIN:
            self._say(writer, OFF)

    def _say(self, writer: ThreadWriter, text: str) -> None:
        self._threads.router.notify(writer.thread_id, "warning", own_warning(text))


def _step(state: ThreadState) -> tuple[str | None, int, int]:
    turn = state.turns[-1]
    return state.running_turn_id, len(turn.items), state.generation.number
