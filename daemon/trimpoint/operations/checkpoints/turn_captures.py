"""Captures the worktree around turns: a baseline before each turn, a capture after it
(docs/spec/checkpoints.md).

Always true: a checkpoint that cannot be made is reported, and never fails the turn. A thread's
captures are made in the order of its turns, so that a baseline does not contain changes of the turn
before it that are still to be captured.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.config.sections import CheckpointsSection
from trimpoint.core.decide.file_history import LATE
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Checkpoint as RecordedCheckpoint
from trimpoint.core.model.state import ThreadState
from trimpoint.git.capture.capture import Checkpoint, capture
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import keep
from trimpoint.git.capture.upkeep import upkeep
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover
from trimpoint.operations.checkpoints.late_captures import (
    AFTERWARDS,
    DELAYED,
    late_facts,
    uncaptured_turn,
    unused_ref,
)
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# A daemon that takes longer to stop would look as if it hangs.
END_DEADLINE_S = 5.0


class Baseline(NamedTuple):
    """The worktree before a turn that has no id yet, or the problem because of which there is no
    checkpoint.
    """

    repository: Repository | None
    checkpoint: Checkpoint | None
    problem: str = ""


class Wanted(NamedTuple):
    """A capture to be made. `since_s` is when it was requested, by the event loop's clock, and
    `ended_at_ms` when the turn had ended, if it had.
    """

    thread_id: str
    turn_id: str
    moment: str
    baseline: Baseline | None
    made: anyio.Event
    since_s: float
    ended_at_ms: int | None


class TurnCaptures:
    """Captures the worktree around turns. Call `before_turn` before a turn is started; captures
    after turns follow from the registry's records.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        folder_of: Callable[[ThreadState], str],
        rules: CheckpointsSection,
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self.folder_of = folder_of
        self.rules = rules
        self._found: dict[str, Repository] = {}
        self._order: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._under_way: dict[str, set[anyio.Event]] = {}
        self._pending: set[tuple[str, str]] = set()
        self._tasks = tasks
        registry.subscribe(self._on_record)
        if rules.enabled:
            spawn(tasks, self._catch_up_all, list(registry.relearned))

    def in_order(self, thread_id: str) -> anyio.Lock:
        """Returns the lock that is held during a capture of the thread, so that captures are made
        in order.
        """
        return self._order.setdefault(thread_id, anyio.Lock())

    async def settled(self, thread_id: str) -> None:
        """Waits until the thread's captures are made, at most `completion_grace_s` seconds."""
        with anyio.move_on_after(self.rules.completion_grace_s):
            for capture_made in list(self._under_way.get(thread_id, ())):
                await capture_made.wait()

    async def last_turn_captured(self, writer: ThreadWriter) -> None:
        """Waits until the thread's captures are made, and makes that after its last turn if an
        earlier daemon has not. Never raises.
        """
        for capture_made in list(self._under_way.get(writer.thread_id, ())):
            await capture_made.wait()
        async with self.in_order(writer.thread_id):
            await self.catch_up(writer)

    async def before_turn(self, writer: ThreadWriter) -> Baseline | None:
        """Returns a checkpoint of the worktree, or None when captures are off or a turn is running.
        Never raises.
        """
        if not self.rules.enabled or writer.state.running_turn_id is not None:
            return None
        with anyio.move_on_after(self.rules.baseline_deadline_s):
            async with self.in_order(writer.thread_id):
                return await self._look(writer, await self.catch_up(writer))
        return Baseline(
            None,
            None,
            f"Capturing the files took longer than {self.rules.baseline_deadline_s:g} seconds.",
        )

    async def catch_up(self, writer: ThreadWriter) -> Baseline | None:
        """Captures the files after the thread's last turn, if a daemon died before it could. Never
        raises.

        The caller holds the lock `in_order`.

        :returns: the captured worktree, or None if nothing had to be captured.
        """
        turn = uncaptured_turn(writer.state)
        if (
            turn is None
            or not self.rules.enabled
            or len(self._under_way.get(writer.thread_id, ())) > 0
        ):
            return None
        looked = await self._look(writer)
        if looked.repository is None or looked.checkpoint is None:
            return None
        try:
            writer.record_facts(
                *await late_facts(
                    writer.state, turn, looked.repository, looked.checkpoint, AFTERWARDS
                )
            )
        except (GitError, ThreadError) as error:
            log.warning(
                "checkpoint_not_recorded",
                thread_id=writer.thread_id,
                turn_id=turn.id,
                detail=str(error),
            )
        return looked

    async def finish(self) -> None:
        """Waits for the captures under way before the daemon ends, at most `END_DEADLINE_S`
        seconds.
        """
        with anyio.move_on_after(END_DEADLINE_S, shield=True):
            for made in [made for events in self._under_way.values() for made in events]:
                await made.wait()

    async def capture_unfinished(self) -> None:
        """Captures the files after turns that ended together with Codex, while the daemon ends."""
        if self.rules.enabled:
            with anyio.move_on_after(END_DEADLINE_S, shield=True):
                loaded = [writer.thread_id for writer in self._registry.loaded_writers()]
                await self._catch_up_all(loaded)

    async def _catch_up_all(self, thread_ids: list[str]) -> None:
        for thread_id in thread_ids:
            try:
                async with self.in_order(thread_id):
                    await self.catch_up(await self._registry.thread(thread_id))
            except ThreadError as error:
                log.warning("checkpoint_not_recorded", thread_id=thread_id, detail=str(error))

    def turn_began(self, writer: ThreadWriter, turn_id: str, baseline: Baseline | None) -> None:
        """Records that `baseline` belongs to this turn. Call it before the turn's start is
        recorded.
        """
        if baseline is not None and turn_id not in writer.state.turn_index:
            self._pending.add((writer.thread_id, turn_id))
            self._spawn(writer.thread_id, turn_id, "before", baseline)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        if not self.rules.enabled:
            return
        begun = {event.turn_id for event in record.events if isinstance(event, ev.TurnStarted)}
        for event in record.events:
            match event:
                case ev.TurnStarted() if (thread_id, event.turn_id) in self._pending:
                    self._pending.discard((thread_id, event.turn_id))
                case ev.TurnStarted() if self._runs(thread_id, event.turn_id):
                    self._spawn(thread_id, event.turn_id, "before", None)
                case ev.TurnCompleted() if (
                    event.turn_id not in begun
                ):  # a turn that began in the same record was read back
                    self._spawn(thread_id, event.turn_id, "after", None)
                case _:
                    pass

    def _runs(self, thread_id: str, turn_id: str) -> bool:
        """Returns whether the turn is running now. Codex starts some turns without `before_turn`:
        queued prompts, goals and reviews.
        """
        writer = self._registry.loaded(thread_id)
        return writer is not None and writer.state.running_turn_id == turn_id

    def _spawn(self, thread_id: str, turn_id: str, moment: str, baseline: Baseline | None) -> None:
        if self._tasks.cancel_scope.cancel_called:
            return  # the daemon is ending; the next daemon captures the turn
        made = anyio.Event()
        self._under_way.setdefault(thread_id, set()).add(made)
        writer = self._registry.loaded(thread_id)
        turn = _turn(writer.state, turn_id) if writer is not None else None
        ended_at_ms = turn.completed_at_ms if turn is not None else None
        now = anyio.current_time()
        wanted = Wanted(thread_id, turn_id, moment, baseline, made, now, ended_at_ms)
        spawn(self._tasks, self._capture, wanted)

    async def _capture(self, wanted: Wanted) -> None:
        thread_id, made = wanted.thread_id, wanted.made
        try:
            async with self.in_order(thread_id):
                writer = await self._registry.thread(thread_id)
                looked = wanted.baseline or await self._look(writer)
                if _is_repeated(writer.state, wanted):
                    return
                facts = await self._facts(writer, wanted, looked)
                if _is_repeated(writer.state, wanted):
                    return
                writer.record_facts(*facts)
            if wanted.moment == "after" and looked.repository is not None:
                spawn(self._tasks, upkeep, looked.repository)
        except ThreadError as error:
            log.warning(
                "checkpoint_not_recorded",
                thread_id=thread_id,
                turn_id=wanted.turn_id,
                detail=str(error),
            )
        finally:
            made.set()
            self._under_way[thread_id].discard(made)
            if not self._under_way[thread_id]:
                del self._under_way[thread_id]

    async def _look(self, writer: ThreadWriter, looked: Baseline | None = None) -> Baseline:
        if looked is not None:
            return looked
        folder = self.folder_of(writer.state)
        try:
            repository = self._found.get(folder) or await discover(Path(folder))
            if isinstance(repository, NoRepository):
                return Baseline(None, None, repository.reason)
            self._found[folder] = repository
            return Baseline(repository, await capture(repository, self.rules))
        except GitError as error:
            self._found.pop(folder, None)
            log.warning("checkpoint_failed", thread_id=writer.thread_id, detail=str(error))
            return Baseline(None, None, str(error))

    async def _facts(
        self, writer: ThreadWriter, wanted: Wanted, looked: Baseline
    ) -> tuple[ev.AnyEvent, ...]:
        turn_id, moment = wanted.turn_id, wanted.moment
        if looked.repository is None or looked.checkpoint is None:
            # Recorded once only: a thread outside of a repository would fail at every turn.
            newest = _newest(writer.state)
            repeated = newest is not None and newest.problem == looked.problem
            return () if repeated else (ev.CheckpointFailed(turn_id, moment, looked.problem),)
        try:
            if self._is_delayed(wanted) and (turn := _turn(writer.state, turn_id)) is not None:
                return await late_facts(
                    writer.state, turn, looked.repository, looked.checkpoint, DELAYED
                )
            return await _timely_facts(writer.state, wanted, looked.repository, looked.checkpoint)
        except GitError as error:
            return (ev.CheckpointFailed(turn_id, moment, str(error)),)

    def _is_delayed(self, wanted: Wanted) -> bool:
        """Returns whether clients were notified of the turn's end before its capture, so that
        changes may be theirs.
        """
        waited_s = anyio.current_time() - wanted.since_s
        return wanted.moment == "after" and waited_s > self.rules.completion_grace_s


def _is_repeated(state: ThreadState, wanted: Wanted) -> bool:
    """Returns whether the turn has gone on since it ended, after an overflow. Its changes could not
    be told from those of others, and the end of the repetition is captured as well.
    """
    turn = _turn(state, wanted.turn_id) if wanted.moment == "after" else None
    return turn is not None and turn.completed_at_ms != wanted.ended_at_ms


async def _timely_facts(
    state: ThreadState, wanted: Wanted, repository: Repository, checkpoint: Checkpoint
) -> tuple[ev.AnyEvent, ...]:
    turn_id, moment, commit = wanted.turn_id, wanted.moment, checkpoint.commit
    late = (LATE,) if moment == "before" and wanted.baseline is None else ()
    notes = (*late, *notes_of(checkpoint.left_out))
    newest = _newest(state)
    if newest is not None and newest.commit == commit and newest.ref:
        # Nothing has changed since, so the existing ref keeps the commit, and a baseline that
        # equals the capture of the turn before is left out.
        ref = newest.ref
        follows = newest.moment == "after" and newest.turn_id == _turn_before(state, turn_id)
        if moment == "before" and follows:
            return ()
    else:
        ref = unused_ref(state, turn_id, moment)
        await keep(repository, ref, commit)
    where = str(repository.worktree)
    return (ev.CheckpointCaptured(turn_id, moment, where, ref, commit, notes),)


def _newest(state: ThreadState) -> RecordedCheckpoint | None:
    return state.checkpoints[-1] if state.checkpoints else None


def _turn(state: ThreadState, turn_id: str) -> Turn | None:
    index = state.turn_index.get(turn_id)
    return state.turns[index] if index is not None else None


def _turn_before(state: ThreadState, turn_id: str) -> str | None:
    index = state.turn_index.get(turn_id, len(state.turns))
    return state.turns[index - 1].id if index else None
