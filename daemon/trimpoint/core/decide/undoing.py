"""The rules of `/undo` and `/undo --redo`: which trim is undone or made again, and the context
afterwards (docs/spec/context.md).

Only the newest trim in force is undone, so all turns before it are those that were there when it
was made. The context is rebuilt from the ledger, so a trim cannot be undone if part of that context
is sealed.
"""

from typing import NamedTuple

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.context_size import exceeds, window_of
from trimpoint.core.context.generations import generation_behind
from trimpoint.core.context.pins import standing_pins
from trimpoint.core.context.provider_compactions import OwnCompaction, newest_own_compaction
from trimpoint.core.decide.trimming import UNPINNED
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Policy, Rejected, Stamp
from trimpoint.core.model.ledger import Boundary, Discard, undone_trim
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in

_SHOWN = (CommandHint("/timeline", "shows what has left the context"),)
REDO_ENDS = "A turn, a trim or a revert since then ends what can be redone."


class UndoPlan(NamedTuple):
    """The effect of `/undo`: `boundary` is the trim that is undone or made again.

    `context` is the state with the trims that are in force afterwards, and `opened` the event that
    opens the generation with that context.
    """

    boundary: Boundary
    context: ThreadState
    opened: ev.GenerationOpened


def undo_trim(state: ThreadState, command: wire.UndoTrim, stamp: Stamp, policy: Policy) -> Decision:
    """Decides `/undo`: returns the events that undo or redo the trim and open the next generation,
    or the rejection.
    """
    plan = plan_undo(state, redo=command.redo)
    if isinstance(plan, Rejected):
        return plan
    boundary_id = plan.boundary.id
    if command.trim_point_id not in (None, boundary_id):
        another = f"The trim that would be undone now is another one: {boundary_id}."
        return Rejected(Reason.NOTHING_TO_UNDO, f"{another} Nothing was changed.")
    if not command.force and (refusal := _needs_force(state, plan, policy)) is not None:
        return refusal
    number = plan.opened.generation
    changed = (ev.TrimRedone if command.redo else ev.TrimUndone)(state.id, boundary_id, number)
    return Accepted(
        (
            ev.OperationStarted(stamp.id, "redo" if command.redo else "undo"),
            changed,
            plan.opened,
            ev.SessionStopRequested(number - 1),
            ev.SessionStartRequested(number),
        ),
        stamp.id,
    )


def plan_undo(state: ThreadState, *, redo: bool = False) -> UndoPlan | Rejected:
    """Returns the plan to undo the newest trim, or, with `redo`, to make the last undone trim
    again; returns a rejection if that is not possible.
    """
    if redo:
        return _plan_redo(state)
    found = undoable(state)
    return found if isinstance(found, Rejected) else _planned(state, *found, "undo")


def undoable(state: ThreadState) -> tuple[Boundary, ThreadState] | Rejected:
    """Returns the trim that `/undo` would undo and the state without it, or the rejection if there
    is none. Takes the same time however many turns the thread has.
    """
    boundary = newest_boundary(state)
    if boundary is None:
        return Rejected(
            Reason.NOTHING_TO_UNDO,
            "Nothing to undo: no trim is in effect on this thread.",
            hints=(CommandHint("/revert N", "goes back to after turn N"),),
        )
    if boundary.generation == 1:
        made = "It was made in the thread that this one was forked from; undo it there."
        return Rejected(Reason.NOTHING_TO_UNDO, f"The last trim cannot be undone here. {made}")
    context = msgspec.structs.replace(
        state,
        trim_points=[point for point in state.trim_points if point is not boundary],
        discards=[discard for discard in state.discards if discard is not boundary],
        undone=[*state.undone, undone_trim(boundary, state.generation.number + 1)],
    )
    if _began_sealed(context, boundary.generation - 1):
        sealed = "Only Codex can read the summary that the context began with before the last trim"
        said = f"{sealed}, so the trim cannot be undone."
        return Rejected(Reason.NOT_SUPPORTED, said, hints=_SHOWN)
    return boundary, context


def _plan_redo(state: ThreadState) -> UndoPlan | Rejected:
    if not state.redoable:
        return Rejected(Reason.NOTHING_TO_UNDO, f"Nothing to redo. {REDO_ENDS}")
    undone = state.undone[-1]
    point, discard = undone.point, undone.discard
    if point is not None and point.summary_unavailable:
        sealed = "The compaction cannot be made again: only Codex could read its summary."
        again = CommandHint("/compact", "summarizes once more")
        return Rejected(Reason.NOT_SUPPORTED, sealed, hints=(again,))
    if discard is not None and (pinned := _pinned_since(state, discard)):
        said = f"Turn {pinned[0]} has been pinned since, and would leave the context."
        return Rejected(Reason.NOTHING_TO_UNDO, said, hints=UNPINNED)
    context = msgspec.structs.replace(
        state,
        trim_points=[*state.trim_points, *([point] if point is not None else [])],
        discards=[*state.discards, *([discard] if discard is not None else [])],
    )
    return _planned(state, undone.boundary, context, "redo")


def _planned(state: ThreadState, boundary: Boundary, context: ThreadState, reason: str) -> UndoPlan:
    point = context.trim_points[-1] if context.trim_points else None
    return UndoPlan(
        boundary, context, generation_behind(state, point, context.active_turns, reason)
    )


def _pinned_since(state: ThreadState, discard: Discard) -> list[int]:
    """Returns the numbers of the pinned turns of which a discard takes or masks something."""
    taken = {*discard.positions, *discard.masks}
    pinned = (pin.turn_id for pin in standing_pins(state))
    return [state.turn_index[one] + 1 for one in pinned if one is not None and one in taken]


def newest_boundary(state: ThreadState) -> Boundary | None:
    """Returns the newest trim in force, of any kind, or None."""
    return max(state.boundaries, key=lambda one: one.generation, default=None)


def _began_sealed(context: ThreadState, number: int) -> bool:
    """Returns whether the generation `number` began with a sealed summary."""
    points = context.trim_points
    in_provider = context.generations[number - 1].bootstrap == "provider"
    return in_provider and bool(points) and points[-1].summary_unavailable


def _needs_force(state: ThreadState, plan: UndoPlan, policy: Policy) -> Rejected | None:
    command = "/undo --redo --force" if plan.opened.reason == "redo" else "/undo --force"
    if (compaction := _compacted_in(state, plan)) is not None:
        lost = f"{compaction.description}, and what it had then cannot be had back by an undo."
        words = CommandHint(command, "brings the turns back word for word")
        return Rejected(Reason.DOES_NOT_FIT, lost, hints=(*_reverting(state, plan), words))
    window = window_of(state.usage, model_in(state.settings), policy)
    if window is None or not exceeds(plan.context, plan.opened, window):
        return None
    size = f"the context would hold more than the {window:,} tokens that fit into the window"
    insist = CommandHint(command, "does it all the same")
    return Rejected(Reason.DOES_NOT_FIT, f"Not undone: {size}.", hints=(insist,))


def _reverting(state: ThreadState, plan: UndoPlan) -> tuple[CommandHint, ...]:
    """Returns the command that brings Codex's own summary back, which was in the context before the
    trim; empty if the present context begins with it.

    The Codex thread of the last turn before the trim has it: had an undo since then given the
    turns in full, no compaction before it would count.
    """
    if plan.opened.reason == "redo" or newest_own_compaction(state) is not None:
        return ()
    kept = sum(turn.generation < plan.boundary.generation for turn in state.turns)
    since = ", without the turns since" if kept < len(state.turns) else ""
    return (CommandHint(f"/revert {kept} --context", f"brings it back{since}"),)


def _compacted_in(state: ThreadState, plan: UndoPlan) -> OwnCompaction | None:
    """Returns Codex's compaction of turns that the plan brings back, or None. A trim that is made
    again brings back only what the model sees now.
    """
    if plan.opened.reason == "redo":
        return newest_own_compaction(state)
    return compacted_by_codex(state, plan.boundary, plan.context)


def compacted_by_codex(
    state: ThreadState, boundary: Boundary, context: ThreadState
) -> OwnCompaction | None:
    """Returns Codex's compaction of turns that undoing `boundary` would bring back in full, or
    None. `context` is the state without that trim.
    """
    here = newest_own_compaction(state)
    if here is not None:
        return here
    number = boundary.generation - 1
    past = msgspec.structs.replace(
        context,
        generations=state.generations[:number],
        compacted_in=[
            turn_id
            for turn_id in state.compacted_in
            if turn_id in state.turn_index
            and state.turns[state.turn_index[turn_id]].generation <= number
        ],
        compacted_behind={
            turn_id: made_in
            for turn_id, made_in in state.compacted_behind.items()
            if made_in <= number
        },
    )
    return newest_own_compaction(past)
