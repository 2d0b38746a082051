"""The rules of reverts: which turns are taken back, and the context that was active at the last
turn that stays.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import context_items
from trimpoint.core.context.generations import generation_behind
from trimpoint.core.context.pins import carried_pins, pin_items
from trimpoint.core.context.provider_compactions import entry_behind
from trimpoint.core.decide.file_history import is_late
from trimpoint.core.decide.revisions import turn_named
from trimpoint.core.evolve.revert_folds import (
    changes_context,
    injected_at,
    placed_notes,
    points_at,
    summarizes_only,
)
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    LISTED,
    Accepted,
    Decision,
    Rejected,
    Stamp,
    counted,
    operation_under_way,
    when_idle,
)
from trimpoint.core.model.ledger import (
    Discard,
    Pin,
    TrimPoint,
    Turn,
    injected_behind,
    turns_behind,
)
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Checkpoint, Reverting, ThreadState

FILES = "files+context"
REVERTED = "It began while the thread was being reverted, which took it back."


class RevertTarget(NamedTuple):
    """The target of a revert: the turns that will be active, the trim point before them, the
    discards in force there, all turns of the ledger up to there, the items `injected` after these
    turns, and the `pins` with the places of the notes there.

    `generation` is the number of the generation whose provider thread holds this context, and
    `through` is Codex's id of the last turn to take from it, or None for all of them. `generation`
    is None if there is no turn and thus no context, if the turn ran in a context that was trimmed
    by a trim which was undone since, or if a fork has inherited the turn as a pruned one.
    """

    active: list[Turn]
    point: TrimPoint | None
    generation: int | None
    through: str | None
    discards: list[Discard]
    ledger: list[Turn]
    injected: list[bytes]
    pins: list[Pin]

    @property
    def is_sealed(self) -> bool:
        """Returns whether the summary before the turns is sealed."""
        return self.point is not None and self.point.summary_unavailable


def revert_to_checkpoint(
    state: ThreadState, command: wire.RevertToCheckpoint, stamp: Stamp
) -> Decision:
    """Decides `/revert`: returns the request with its target, or the rejection. Nothing else
    changes yet.
    """
    if (command.turn_id is not None) + (command.turn_count is not None) + command.undo > 1:
        return Rejected(
            Reason.USAGE, "Name what to revert to by only one of turnId, turnCount and undo."
        )
    if command.undo:
        return _undo(state, command, stamp)
    kept = _turns_kept(state, command)
    if isinstance(kept, Rejected):
        return kept
    if command.scope != FILES:
        if not changes_context(state, kept):
            return Rejected(
                Reason.NOTHING_TO_REVERT,
                "Nothing to revert: the context is already the one of that turn.",
                hints=LISTED,
            )
        return _requested(state, kept, command, stamp, None)
    checkpoint = checkpoint_after(state, kept)
    return (
        checkpoint
        if isinstance(checkpoint, Rejected)
        else _requested(state, kept, command, stamp, checkpoint)
    )


def _turns_kept(state: ThreadState, command: wire.RevertToCheckpoint) -> int | Rejected:
    if command.turn_id is not None:
        return turn_named(state, command.turn_id)
    kept = command.turn_count if command.turn_count is not None else max(0, len(state.turns) - 1)
    if kept > len(state.turns):
        return Rejected(
            Reason.TURN_NOT_FOUND,
            f"The thread has only {counted(len(state.turns), 'turn')}.",
            hints=LISTED,
        )
    if not state.turns:
        return Rejected(Reason.NOTHING_TO_REVERT, "Nothing to revert: the thread has no turns.")
    return kept


def checkpoint_after(state: ThreadState, kept: int) -> Checkpoint | Rejected:
    """Returns the checkpoint of the files after the first `kept` turns, or the rejection if there
    is none.
    """
    after = _moments(state, state.turns[kept - 1].id, "after") if kept else []
    before = _moments(state, state.turns[kept].id, "before") if kept < len(state.turns) else []
    # The baseline of the next turn comes first: what others changed before it is not reverted.
    late = [one for one in before if is_late(one)]
    candidates = [*(one for one in before if not is_late(one)), *after, *late]
    found = next((checkpoint for checkpoint in candidates if checkpoint.commit), None)
    if found is not None:
        return found
    problems = [one.problem for one in (*candidates, *reversed(state.checkpoints)) if one.problem]
    why = problems[0] if problems else "none was made then"
    where = f"turn {kept}" if kept else "the time before the first turn"
    return Rejected(
        Reason.CHECKPOINT_NOT_FOUND,
        f"There is no checkpoint of {where}: {why.rstrip('.')}.",
        hints=(CommandHint(f"/revert {kept} --context", "takes the context back alone"),),
    )


def _moments(state: ThreadState, turn_id: str, moment: str) -> list[Checkpoint]:
    """Returns the turn's checkpoints of that moment, newest first."""
    places = state.checkpoint_places.get(turn_id, ())
    made = (state.checkpoints[place] for place in reversed(places))
    return [one for one in made if one.moment == moment]


def _requested(
    state: ThreadState,
    kept: int,
    command: wire.RevertToCheckpoint,
    stamp: Stamp,
    checkpoint: Checkpoint | None,
) -> Decision:
    turn_id = state.turns[kept - 1].id if kept else None
    files = (checkpoint.repository, checkpoint.commit) if checkpoint is not None else ("", "")
    requested = ev.RevertRequested(stamp.id, turn_id, command.scope, False, command.force, *files)
    return Accepted((ev.OperationStarted(stamp.id, "revert"), requested), stamp.id)


def _undo(state: ThreadState, command: wire.RevertToCheckpoint, stamp: Stamp) -> Decision:
    past = state.undo_state
    if past is None:
        return Rejected(
            Reason.NOTHING_TO_REVERT,
            "There is no revert that could be undone.",
            hints=(CommandHint("/undo", "takes the last trim back"),),
        )
    with_files = command.scope == FILES and bool(past.commit)
    scope, files = (FILES, (past.repository, past.commit)) if with_files else ("context", ("", ""))
    requested = ev.RevertRequested(stamp.id, None, scope, True, command.force, *files)
    return Accepted((ev.OperationStarted(stamp.id, "revert"), requested), stamp.id)


def resolve_target(state: ThreadState, reverting: Reverting) -> RevertTarget | None:
    """Returns the context that the revert restores, or None if the context stays the same."""
    if reverting.undo and (past := state.undo_state) is not None:
        if past.generation == state.generation.number and past.kept_turns == len(state.turns):
            return None  # that revert was of files alone, and nothing has happened since
        turns = [*_with_injected(state.turns[: past.kept_turns], past.injected), *past.turns]
        injected = past.injected_before_next
        pins = placed_notes(state.pins, past.kept_turns, past.note_places)
        return _target(
            turns, past.trim_points, past.generation, None, past.discards, injected, pins
        )
    kept = state.turn_index[reverting.turn_id] + 1 if reverting.turn_id is not None else 0
    return target_after(state, kept) if changes_context(state, kept) else None


def target_after(state: ThreadState, kept: int) -> RevertTarget:
    """Returns the context as it was after the first `kept` turns."""
    last = state.turns[kept - 1].generation if kept else 0
    points = points_at(state.trim_points, state.turns[:kept])
    made = [discard for discard in state.discards if discard.generation <= last]
    kept_ids = {turn.id for turn in state.turns[:kept]} if made else ()
    discards = [discard for discard in made if summarizes_only(discard, kept_ids)]
    through = _last_in_codex(state, state.turns[kept - 1]) if kept else None
    # The provider thread of that generation holds a context with a trim that was undone since.
    is_undone = any(one.boundary.generation <= last < one.undone_in for one in state.undone)
    # A fork's provider thread begins behind the trims that the fork inherited.
    is_pruned = any(one.generation <= last for one in state.trim_points if one not in points)
    tells_more = len(discards) < len(made)
    generation = None if is_undone or tells_more or (kept and is_pruned) else last or None
    turns, injected = _with_injected(state.turns[:kept], []), injected_at(state, kept)
    pins = placed_notes(state.pins, kept)
    return _target(turns, points, generation, through, discards, injected, pins)


def _last_in_codex(state: ThreadState, turn: Turn) -> str:
    """Returns the id of the last turn of Codex that belongs to the turn in its generation."""
    behind = entry_behind(state, turn)
    if behind is not None and state.compacted_behind[turn.id] <= turn.generation:
        return behind.id
    return turn.provider_turn_id or turn.id


def _with_injected(turns: Sequence[Turn], injected: list[bytes]) -> list[Turn]:
    """Returns a copy of `turns` in which the items injected after the last turn are replaced by
    `injected`.
    """
    if not turns:
        return []
    last = turns[-1].without_injected
    return [
        *turns[:-1],
        msgspec.structs.replace(last, items=[*last.items, *injected]) if last.items else last,
    ]


def _target(
    turns: list[Turn],
    points: list[TrimPoint],
    generation: int | None,
    through: str | None,
    discards: list[Discard],
    injected: list[bytes],
    pins: list[Pin],
) -> RevertTarget:
    point = points[-1] if points else None
    return RevertTarget(
        turns_behind(point, turns),
        point,
        generation,
        through,
        discards,
        turns,
        injected_behind(point, turns, injected),
        pins,
    )


def target_items(state: ThreadState, target: RevertTarget) -> list[bytes]:
    """Returns the raw items of the target's context, for injection if Codex no longer has that
    context.
    """
    opened = _opened(state, target, in_provider=False)
    return context_items(
        state,
        opened.summary,
        opened.summarized_messages,
        target.active,
        opened.skipped_items,
        target.discards,
        pin_items(state, opened.pins, target.ledger),
        target.injected,
    )


def target_pins(state: ThreadState, target: RevertTarget) -> tuple[str, ...]:
    """Returns the ids of the pins among `target_items`."""
    return _opened(state, target, in_provider=False).pins


def complete_revert(state: ThreadState, command: internal.CompleteRevert) -> Decision:
    """Completes a revert whose files and provider thread are prepared: returns all its effects as
    one record.
    """
    operation = operation_under_way(state, command.operation_id)
    reverting = operation.reverting if operation is not None else None
    if (
        operation is None
        or reverting is None
        or operation.phase not in (Phase.STARTING, Phase.RESTORING)
    ):
        return Rejected(Reason.INTERNAL, "The revert is no longer under way.")
    events: list[ev.AnyEvent] = []
    if reverting.commit:
        events.append(
            ev.FilesRestored(operation.id, reverting.files, command.written, command.removed)
        )
    target = resolve_target(state, reverting)
    if target is not None and (running := state.running_turn_id) is not None:
        # Codex began it by itself in the session that is left, and ends it as that is archived.
        events.append(ev.TurnCompleted(running, "interrupted", REVERTED, items_heard=False))
    events.append(
        ev.CheckpointRestored(operation.id, reverting.turn_id, reverting.scope, reverting.undo)
    )
    if target is not None and command.provider_thread_id is not None:
        opened = _opened(state, target, in_provider=command.in_provider)
        bound = ev.ProviderThreadBound(
            opened.generation, command.provider_thread_id, command.rollout_path, command.raw_events
        )
        events += [opened, bound, ev.SessionReady(opened.generation)]
    events.append(ev.OperationAdvanced(operation.id, Phase.READY, command.message))
    return Accepted(tuple(events), operation.id)


def _opened(state: ThreadState, target: RevertTarget, *, in_provider: bool) -> ev.GenerationOpened:
    there = msgspec.structs.replace(state, pins=target.pins)
    opened = generation_behind(
        there, target.point, target.active, "revert", in_provider=in_provider, ledger=target.ledger
    )
    if in_provider and target.generation is not None:
        # The provider thread holds the pins that its generation was opened with.
        pins = state.generations[target.generation - 1].pins
        return msgspec.structs.replace(opened, pins=pins)
    return opened


def has_other_pins(state: ThreadState, target: RevertTarget) -> bool:
    """Returns whether the pins that the target's context needs now differ from those that its
    provider thread holds.
    """
    if target.generation is None:
        return False
    needed = carried_pins(state, [turn.id for turn in target.active], target.ledger)
    given = state.generations[target.generation - 1].pins
    return {pin.id for pin in needed} != set(given)


def roll_back_turns(state: ThreadState, command: internal.RollBackTurns, stamp: Stamp) -> Decision:
    """Takes back a turn and all later turns without changing files."""
    reverted = ev.TurnsRolledBack(command.turn_id)
    if command.provider_did:
        return Accepted((reverted,) if command.turn_id in state.turn_index else ())
    if (refusal := when_idle(state, "revert")) is not None:
        return refusal
    index = state.turn_index.get(command.turn_id)
    if index is None:
        return Rejected(Reason.NOT_SUPPORTED, "The thread has no such turn.")
    point = next(
        (point for point in reversed(state.trim_points) if point.turn_index <= index), None
    )
    if point is not None and point.summary_unavailable:
        return Rejected(
            Reason.NOT_SUPPORTED,
            "Only Codex has the summary that the turn builds on, "
            "so the thread cannot go back to it.",
        )
    # The context that was active at that turn: the turns since the last trim before it.
    left = state.turns[point.turn_index if point is not None else 0 : index]
    there = msgspec.structs.replace(state, pins=placed_notes(state.pins, index))
    opened = generation_behind(there, point, left, "revert", ledger=state.turns[:index])
    number = opened.generation
    requested = ev.SessionStopRequested(number - 1), ev.SessionStartRequested(number)
    return Accepted(
        (ev.OperationStarted(stamp.id, "revert"), reverted, opened, *requested), stamp.id
    )
