"""Checkpoints around turns: a baseline before each, a capture after it (docs/spec/checkpoints.md).

Always true: a checkpoint that cannot be made is said and never fatal to the turn. A thread's
captures are made in the order of its turns, so that a baseline never holds what the turn before it
still had to be captured with.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio.abc import TaskGroup

from trimpoint.core.decide.file_history import LATE
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Checkpoint as RecordedCheckpoint
from trimpoint.core.model.state import ThreadState
from trimpoint.git.capture.capture import CaptureLimits, Checkpoint, capture
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import checkpoint_ref, keep
from trimpoint.git.capture.untracked import SECRET_NAMES
from trimpoint.git.capture.upkeep import upkeep
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.repository import NoRepository, Repository, discover
from trimpoint.operations.checkpoints.late_captures import (
    AFTERWARDS,
    DELAYED,
    late_facts,
    uncaptured_turn,
)
from trimpoint.threads.errors import EngineError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writer import ThreadWriter

log = structlog.get_logger()

# An end that takes longer would look like a daemon that hangs.
END_DEADLINE_S = 5.0


class CaptureRules(NamedTuple):
    """`baseline_deadline_s` bounds how long a turn waits for its baseline, `deadline_s` any other
    capture.

    `completion_grace_s` bounds how long the word that a turn has ended is kept back for its
    capture: what a person then changes at once must not pass for the agent's.
    """

    enabled: bool = True
    max_file_bytes: int = 64 * 1024 * 1024
    baseline_deadline_s: float = 10.0
    completion_grace_s: float = 0.25
    deadline_s: float = 120.0
    max_untracked_bytes: int = 128 * 1024 * 1024
    secret_names: tuple[str, ...] = SECRET_NAMES


class Baseline(NamedTuple):
    """The worktree before a turn that has no id yet, or why there is none."""

    repository: Repository | None
    checkpoint: Checkpoint | None
    problem: str = ""


class Wanted(NamedTuple):
    """A capture to make; `since_s` is when it was asked for, by the clock of the loop."""

    thread_id: str
    turn_id: str
    moment: str
    baseline: Baseline | None
    made: anyio.Event
    since_s: float


class TurnCaptures:
    """Subscribes to the engine. `before_turn` is to be called before a turn is started."""

    def __init__(
        self,
        engine: ThreadRegistry,
        folder_of: Callable[[ThreadState], str],
        rules: CaptureRules,
        tasks: TaskGroup,
    ) -> None:
        self._engine = engine
        self.folder_of = folder_of
        self._rules = rules
        self._found: dict[str, Repository] = {}
        self._order: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._under_way: dict[str, set[anyio.Event]] = {}
        self._pending: set[tuple[str, str]] = set()
        self._tasks = tasks
        engine.subscribe(self._on_record)
        if rules.enabled:
            tasks.start_soon(self._catch_up_all, list(engine.relearned))

    @property
    def limits(self) -> CaptureLimits:
        """Returns what a capture may cost."""
        rules = self._rules
        return CaptureLimits(
            rules.max_file_bytes, rules.deadline_s, rules.max_untracked_bytes, rules.secret_names
        )

    def in_order(self, thread_id: str) -> anyio.Lock:
        """Held while something is captured of the thread, first come first served."""
        return self._order.setdefault(thread_id, anyio.Lock())

    async def settled(self, thread_id: str) -> None:
        """Return when the thread's captures are made, at the latest when the grace is over."""
        with anyio.move_on_after(self._rules.completion_grace_s):
            for capture_made in list(self._under_way.get(thread_id, ())):
                await capture_made.wait()

    async def before_turn(self, writer: ThreadWriter) -> Baseline | None:
        """Returns the worktree as it is; None when captures are off or a turn runs already. Never
        raises.
        """
        if not self._rules.enabled or writer.state.running_turn_id is not None:
            return None
        with anyio.move_on_after(self._rules.baseline_deadline_s):
            async with self.in_order(writer.thread_id):
                return await self._look(writer, await self.catch_up(writer))
        return Baseline(
            None,
            None,
            f"Capturing the files took longer than {self._rules.baseline_deadline_s:g} seconds.",
        )

    async def catch_up(self, writer: ThreadWriter) -> Baseline | None:
        """Capture the files after the thread's last turn if a daemon died before it could. Never
        raises.

        The caller holds the thread's captures in order.

        :returns: what was found, if anything was captured
        """
        turn = uncaptured_turn(writer.state)
        if (
            turn is None
            or not self._rules.enabled
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
        except (GitError, EngineError) as error:
            log.warning(
                "checkpoint_not_recorded",
                thread_id=writer.thread_id,
                turn_id=turn.id,
                detail=str(error),
            )
        return looked

    async def finish(self) -> None:
        """Wait for the captures under way before the daemon ends, but not for long."""
        with anyio.move_on_after(END_DEADLINE_S, shield=True):
            for made in [made for events in self._under_way.values() for made in events]:
                await made.wait()

    async def capture_unfinished(self) -> None:
        """Capture the files after turns that have ended with Codex, as the daemon ends."""
        if self._rules.enabled:
            with anyio.move_on_after(END_DEADLINE_S, shield=True):
                loaded = [writer.thread_id for writer in self._engine.loaded_writers()]
                await self._catch_up_all(loaded)

    async def _catch_up_all(self, thread_ids: list[str]) -> None:
        for thread_id in thread_ids:
            try:
                async with self.in_order(thread_id):
                    await self.catch_up(await self._engine.thread(thread_id))
            except EngineError as error:
                log.warning("checkpoint_not_recorded", thread_id=thread_id, detail=str(error))

    def turn_began(self, writer: ThreadWriter, turn_id: str, baseline: Baseline | None) -> None:
        """Notes the id of the turn that `baseline` was made for; call it before the turn's start is
        recorded.
        """
        if baseline is not None and turn_id not in writer.state.turn_index:
            self._pending.add((writer.thread_id, turn_id))
            self._spawn(writer.thread_id, turn_id, "before", baseline)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        if not self._rules.enabled:
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
                ):  # one that began in the same record is history, read back
                    self._spawn(thread_id, event.turn_id, "after", None)
                case _:
                    pass

    def _runs(self, thread_id: str, turn_id: str) -> bool:
        """Returns whether the turn began just now, by itself: a queued prompt, a goal, a review."""
        writer = self._engine.loaded(thread_id)
        return writer is not None and writer.state.running_turn_id == turn_id

    def _spawn(self, thread_id: str, turn_id: str, moment: str, baseline: Baseline | None) -> None:
        if self._tasks.cancel_scope.cancel_called:
            return  # the daemon ends; the next one's baseline stands in
        made = anyio.Event()
        self._under_way.setdefault(thread_id, set()).add(made)
        wanted = Wanted(thread_id, turn_id, moment, baseline, made, anyio.current_time())
        self._tasks.start_soon(self._capture, wanted)

    async def _capture(self, wanted: Wanted) -> None:
        thread_id, made = wanted.thread_id, wanted.made
        try:
            async with self.in_order(thread_id):
                writer = await self._engine.thread(thread_id)
                looked = wanted.baseline or await self._look(writer)
                writer.record_facts(*await self._facts(writer, wanted, looked))
            if wanted.moment == "after" and looked.repository is not None:
                self._tasks.start_soon(upkeep, looked.repository)
        except EngineError as error:
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
            return Baseline(repository, await capture(repository, self.limits))
        except GitError as error:
            self._found.pop(folder, None)
            log.warning("checkpoint_failed", thread_id=writer.thread_id, detail=str(error))
            return Baseline(None, None, str(error))

    async def _facts(
        self, writer: ThreadWriter, wanted: Wanted, looked: Baseline
    ) -> tuple[ev.AnyEvent, ...]:
        turn_id, moment = wanted.turn_id, wanted.moment
        if looked.repository is None or looked.checkpoint is None:
            # Once is enough: a thread outside of a repository has nothing new to say with every
            # turn.
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
        """Returns whether clients were notified of the turn's end, so that the files may be
        theirs.
        """
        waited_s = anyio.current_time() - wanted.since_s
        return wanted.moment == "after" and waited_s > self._rules.completion_grace_s


async def _timely_facts(
    state: ThreadState, wanted: Wanted, repository: Repository, checkpoint: Checkpoint
) -> tuple[ev.AnyEvent, ...]:
    turn_id, moment, commit = wanted.turn_id, wanted.moment, checkpoint.commit
    late = (LATE,) if moment == "before" and wanted.baseline is None else ()
    notes = (*late, *notes_of(checkpoint.left_out))
    newest = _newest(state)
    if newest is not None and newest.commit == commit and newest.ref:
        # Nothing has changed since, so the ref that is there keeps it; a baseline that says no more
        # than that is left out.
        ref = newest.ref
        follows = newest.moment == "after" and newest.turn_id == _turn_before(state, turn_id)
        if moment == "before" and follows:
            return ()
    else:
        ref = checkpoint_ref(state.id, f"{turn_id}-{moment}")
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
