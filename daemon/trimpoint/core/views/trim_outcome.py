"""Describes the effect of a trim for its answer: tokens before and after, and the command that
undoes it.
"""

from typing import assert_never

from trimpoint_protocol import commands as wire
from trimpoint_protocol.methods import TokenChange

from trimpoint.core.context.active_context import context_items, plan_trim
from trimpoint.core.context.context_size import (
    ContextSize,
    context_size,
    estimated_size,
    opened_tokens,
    overhead_tokens,
    percent_text,
    used_percent,
    window_of,
)
from trimpoint.core.context.measured_sizes import is_as_measured, measured_turn
from trimpoint.core.context.pins import carried_pins, pin_items, pin_tokens, standing_pins
from trimpoint.core.decide.reverting import resolve_target, target_items
from trimpoint.core.decide.stretch_summaries import stretch_to_compact
from trimpoint.core.decide.stretches import masked_stretch_of, names_stretch, stretch_of
from trimpoint.core.decide.summaries import EDIT
from trimpoint.core.decide.undoing import UndoPlan, compacted_by_codex, plan_undo, undoable
from trimpoint.core.model.decision import Policy, Rejected, counted
from trimpoint.core.model.ledger import Boundary, Discard
from trimpoint.core.model.state import Reverting, ThreadState
from trimpoint.core.model.tokens import estimate_total
from trimpoint.core.model.usage import model_in
from trimpoint.core.views.pins_view import Left

SUMMARY_TO_COME = "The summary is not counted, because it is not written yet."
UNDO, REDO = "/undo", "/undo --redo"
DISCARDED = "An estimate: what is discarded is weighed here, and not by the model."
NEW_SESSION = "An estimate: what instructions and tools took before."

Planned = (
    wire.TrimContext | wire.CompactContext | wire.MaskContext | wire.ArchiveAndNew | wire.UndoTrim
)
_CALLED = {
    "clear": "/clear",
    "compact": "/compact",
    "auto": "the automatic compaction",
    "overflow": "the summary that made room for a turn",
    "compress": "/compress",
    "agent": "what the agent discarded",
    "discard": "the discard",
    "mask": "the mask",
    "autoMask": "the automatic mask",
    "edit": "the edited summary",
}


def token_change(before: ContextSize, after: ContextSize, window: int | None) -> TokenChange:
    """Returns the sizes before and after, their percentages of the window, and a note if either
    size is an estimate.
    """
    return TokenChange(
        before=before.used,
        after=after.used,
        before_estimated=before.is_estimate,
        after_estimated=after.is_estimate,
        note=after.note or before.note,
        window_tokens=window,
        before_percent=_percent(before.used, window),
        after_percent=_percent(after.used, window),
    )


def _percent(tokens: int | None, window: int | None) -> float | None:
    return None if tokens is None or window is None else used_percent(tokens, window)


def tokens_text(change: TokenChange) -> str:
    """Returns the change in a sentence."""
    before = f"{'about ' * change.before_estimated}{change.before:,}"
    if change.after is None:
        return f"The context holds {before} tokens now."
    after = f"{'about ' * change.after_estimated}{change.after:,}"
    percent = ""
    if change.before_percent is not None and change.after_percent is not None:
        percent = _shares_text(change.before_percent, change.after_percent)
    cost = f" {change.cost.said}" if change.cost else ""
    return f"Context: {before} tokens before, {after} after{percent}.{cost}"


def _shares_text(before: float, after: float) -> str:
    shares = percent_text(before), percent_text(after)
    return f" ({shares[0]} → {shares[1]} of the window)" if shares[0] != shares[1] else ""


def undo_command(state: ThreadState, *, of_undo: bool = False) -> str | None:
    """Returns the command that takes back the last trim or, with `of_undo`, the last undo; None if
    there is none.
    """
    if of_undo and state.redoable:
        return REDO
    found = undoable(state)
    if not isinstance(found, Rejected) and compacted_by_codex(state, *found) is None:
        return UNDO
    # Codex may still have the context that the ledger lacks, but without the turns since the trim.
    return f"/revert {len(state.turns)} --context" if state.turns and not of_undo else None


def with_pins(state: ThreadState) -> str:
    """Returns a part of a sentence that says how many pins the new thread begins with."""
    return f"that begins with {counted(len(standing_pins(state)), 'pin')},"


def left_pins(state: ThreadState) -> str:
    """Returns a sentence about the pins that a new thread does not take along; empty if there are
    none.
    """
    count = len(standing_pins(state))
    verb = "stays" if count == 1 else "stay"
    return f"{counted(count, 'pin')} {verb} with the archived thread." if count else ""


def change_by_discard(state: ThreadState, discarded_tokens: int, policy: Policy) -> TokenChange:
    """Returns the change of the context's size that a discard of `discarded_tokens` tokens would
    make.
    """
    before = context_size(state, policy)
    # Estimated, as it will be right after the discard, until Codex reports it.
    left = max(0, estimated_size(state).used - discarded_tokens)
    after = ContextSize(left, is_estimate=True, is_unknown=False, note=before.note or DISCARDED)
    return token_change(before, after, window_of(state.usage, model_in(state.settings), policy))


def planned_change(state: ThreadState, command: Planned, policy: Policy) -> TokenChange:
    """Returns the change of the context's size that an accepted command would make."""
    before, overhead = context_size(state, policy), overhead_tokens(state)
    window = window_of(state.usage, model_in(state.settings), policy)
    after: int | None
    match command:
        case wire.TrimContext() if names_stretch(command):
            found = stretch_of(state, command)
            gone = 0 if isinstance(found, Rejected) else found.tokens
            return change_by_discard(state, gone, policy)
        case wire.MaskContext():
            masked = masked_stretch_of(state, command)
            gone = 0 if isinstance(masked, Rejected) else masked.tokens
            return change_by_discard(state, gone, policy)
        case wire.TrimContext():
            after, note = overhead + _kept_tokens(state, command), NEW_SESSION if overhead else None
        case wire.CompactContext():
            after, note = None, SUMMARY_TO_COME
        case wire.UndoTrim():
            plan = plan_undo(state, redo=command.redo)
            after, note = None, NEW_SESSION if overhead else None
            if isinstance(plan, UndoPlan):
                if (measured := _measured_after(plan)) is not None:
                    return token_change(before, measured, window)
                after = opened_tokens(plan.context, plan.opened)
        case wire.ArchiveAndNew(pins=pins):
            pinned = sum(pin_tokens(state, pin) for pin in standing_pins(state)) if pins else 0
            after, note = overhead + pinned, NEW_SESSION if overhead else None
        case _:
            assert_never(command)
    return TokenChange(
        before=before.used,
        after=after,
        before_estimated=before.is_estimate,
        after_estimated=True,
        note=note or before.note,
        window_tokens=window,
        before_percent=_percent(before.used, window),
        after_percent=_percent(after, window),
    )


def planned_revert_change(state: ThreadState, reverting: Reverting, policy: Policy) -> TokenChange:
    """Returns the change of the context's size that an accepted revert would make."""
    before = context_size(state, policy)
    target = resolve_target(state, reverting)
    if target is None:
        after = before
    else:
        overhead = overhead_tokens(state)
        tokens = overhead + estimate_total(target_items(state, target))
        note = NEW_SESSION if overhead else None
        after = ContextSize(tokens, is_estimate=True, is_unknown=False, note=note)
    return token_change(before, after, window_of(state.usage, model_in(state.settings), policy))


def planned_text(state: ThreadState, command: Planned) -> str:
    """Returns a sentence that says what an accepted command would do."""
    match command:
        case wire.ArchiveAndNew(pins=pins):
            new = f"one {with_pins(state)}" if pins and standing_pins(state) else "an empty one"
            said = f"Would archive the thread and start {new} with the same files and settings."
            return said if pins else f"{said} {left_pins(state)}".rstrip()
        case wire.UndoTrim():
            undone = plan_undo(state, redo=command.redo)
            return (
                undone.message
                if isinstance(undone, Rejected)
                else _planned_undo_text(state, undone)
            )
        case wire.TrimContext() if names_stretch(command):
            found = stretch_of(state, command)
            return found.message if isinstance(found, Rejected) else f"Would clear {found.text}."
        case wire.MaskContext():
            masked = masked_stretch_of(state, command)
            if isinstance(masked, Rejected):
                return masked.message
            return f"Would mask {masked.text}. {masked.left_text}".rstrip()
        case wire.CompactContext() if names_stretch(command):
            found = stretch_to_compact(state, command)
            return (
                found.message if isinstance(found, Rejected) else f"Would summarize {found.text}."
            )
        case wire.TrimContext() | wire.CompactContext():
            verb = "clear" if isinstance(command, wire.TrimContext) else "summarize"
            plan = plan_trim(state, command.keep_last_n_turns or 0)
            if plan is None or not plan.pruned_turn_count:
                return f"Would {verb} what the context begins with."
            # A summary is made of the pinned turns too.
            without_pins = Left.of(state, plan)
            every = Left(plan.pruned_message_count, plan.pruned_turn_count)
            gone = without_pins if verb == "clear" else every
            kept = f"{last_turns(len(plan.kept))} kept" if plan.kept else "nothing kept"
            return f"Would {verb} {gone}, {kept}."
        case _:
            assert_never(command)


def _kept_tokens(state: ThreadState, command: wire.TrimContext) -> int:
    plan = plan_trim(state, command.keep_last_n_turns or 0)
    kept = plan.kept if plan is not None else []
    pins = carried_pins(state, [turn.id for turn in kept])
    pinned = pin_items(state, [pin.id for pin in pins])
    injected = state.active_injected if kept else ()
    items = context_items(state, command.summary, 0, kept, pinned=pinned, injected=injected)
    return estimate_total(items)


def _measured_after(plan: UndoPlan) -> ContextSize | None:
    """Returns the size that was measured before the trim that the plan undoes, or None."""
    turn = measured_turn(plan.context, plan.opened.generation)
    if plan.opened.reason == "redo" or turn is None or turn.report is None:
        return None
    size = ContextSize(turn.report.used, is_estimate=False, is_unknown=False)
    return size if is_as_measured(plan.context, turn) else None


def _planned_undo_text(state: ThreadState, plan: UndoPlan) -> str:
    turns = f"the context would hold {counted(len(plan.opened.turn_ids), 'turn')}"
    if plan.opened.reason == "redo":
        return f"Would make {called(plan.boundary)} again; {turns}."
    comes_back = came_back(state, plan.boundary, planned=True)
    return f"Would undo {called(plan.boundary)}: {comes_back}; {turns}."


def last_turns(count: int) -> str:
    """Returns the last turns as words."""
    return "the last turn" if count == 1 else f"the last {count} turns"


def called(boundary: Boundary) -> str:
    """Returns the name of a trim for a person, such as `/clear`."""
    return _CALLED.get(boundary.trigger, "the trim")


def removed_text(discard: Discard) -> str:
    """Returns a part of a sentence that says what a discard took out and masked."""
    count, masked = len(discard.entry_ids), len(discard.masked_entry_ids)
    parts = [counted(count, "entry")] if count else []
    if masked:
        parts.append(f"the output of {counted(masked, 'entry')}")
    return f"{' and '.join(parts)} of about {discard.est_tokens:,} tokens"


def came_back(state: ThreadState, boundary: Boundary, *, planned: bool = False) -> str:
    """Returns a part of a sentence that says what an undo has brought back into the context, or
    would bring back with `planned`.
    """
    if isinstance(boundary, Discard):
        count = len(boundary.entry_ids) + len(boundary.masked_entry_ids)
        what = removed_text(boundary)
    elif boundary.trigger == EDIT:
        what, count = "the former summary", 1
    elif not boundary.pruned_turn_count:
        what, count = "what was injected" if boundary.pruned_injected else "the summary", 1
    else:
        left = Left.of(state, boundary)
        count, what = left.messages, str(left)
    verb = "would be" if planned else "is" if count == 1 else "are"
    return f"{what} {verb} in the context again"
