"""Words the outcome of an operation, for a person."""

from collections.abc import Sequence

from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.context.provider_compactions import turns_brought_back
from trimpoint.core.decide.auto_masking import AUTO_MASK
from trimpoint.core.decide.autopilot import is_paused
from trimpoint.core.decide.reverting import RevertTarget, resolve_target
from trimpoint.core.decide.stretches import CLEAR
from trimpoint.core.decide.summaries import EDIT
from trimpoint.core.decide.undoing import newest_boundary
from trimpoint.core.model.decision import counted
from trimpoint.core.model.ledger import Boundary, Discard, TrimPoint
from trimpoint.core.model.operations import DELETE, DRAFT, HANDOFF, Phase
from trimpoint.core.model.state import Operation, Reverting, ThreadState
from trimpoint.core.views.pins_view import Left
from trimpoint.core.views.trim_outcome import called, came_back, last_turns, removed_text
from trimpoint.threads.worktrees import Preview, Restored

AFTER_OVERFLOW = (
    "/clear N keeps the last N turns in the agent's context, /clear keeps none. "
    "Neither needs the model, so both work when nothing fits any more."
)
"""The advice for a person whose context is full."""

SHOWN_PATHS = 10


def ready_message(state: ThreadState, operation: Operation, not_carried: list[str]) -> str:
    """Returns the message for an operation that succeeded. It names what could not be carried
    over.
    """
    if operation.kind == "revert":
        message = (
            "The conversation was taken back; the context now holds "
            f"{counted(state.active_turn_count, 'turn')}."
        )
    elif operation.kind == "undo":
        message = _undone(state, state.undone[-1].boundary)
    elif operation.kind in ("pin", "unpin"):
        verb = "Pinned" if operation.kind == "pin" else "Unpinned"
        message = f"{verb}; the context holds {counted(len(state.generation.pins), 'pin')} now."
    elif operation.kind == EDIT:
        message = EDITED
    elif operation.kind == "redo":
        message = _redone(state)
    elif operation.kind == "discard" and state.discards:
        message = _discarded(state.discards[-1]) + _within_turn(state)
    elif operation.compaction_turns is not None:
        message = _summarized(state.discards[-1])
    elif operation.kind == "start" or not state.trim_points:
        message = "The session is ready."
    elif operation.kind == "compact":
        message = _compacted(state, state.trim_points[-1])
    else:
        message = _cleared(state, state.trim_points[-1])
    if operation.kind in ("clear", "compact") and state.generation.pins:
        message += f" {len(state.generation.pins)} pinned kept."
    approvals = operation.kind != "start" and state.generations[-2].session_approvals
    return message + _left_behind(not_carried, approvals)


def recovered_message(state: ThreadState, messages: int, not_carried: list[str]) -> str:
    """Returns the message for a turn that continues after an overflow; `state` is the state before
    the recovery.
    """
    message = (
        f"The turn continues: {counted(messages, 'message')} before it summarized to make room."
    )
    return message + _left_behind(not_carried, state.generation.session_approvals)


def reverted_message(
    state: ThreadState, operation: Operation, restored: Restored, not_carried: list[str]
) -> str:
    """Returns the message for a revert that succeeded. Call it before the final record is
    written.
    """
    reverting = operation.reverting
    assert reverting is not None
    message = (
        f"Back {_destination(state, reverting)}. "
        f"{_files(reverting, restored)}{_kept(reverting.kept)}"
    )
    target = resolve_target(state, reverting)
    if target is None:
        message += " The context is what it was."
    else:
        summary = " and a summary" if _has_summary(target) else ""
        message += f" The context holds {counted(len(target.active), 'turn')}{summary}."
    if not_carried:
        message += f" Not carried over: {', '.join(not_carried)}."
    if target is not None and state.generation.session_approvals:
        message += " What you approved for the session will be asked for again."
    return message


def previewed_message(state: ThreadState, reverting: Reverting, files: Preview) -> str:
    """Returns the message that says what a revert would do, or why it would be refused."""
    refusals = "; ".join(files.refusals[:SHOWN_PATHS]) if not reverting.force else ""
    if refusals:
        return (
            f"The revert would be refused, because files would be lost: {refusals}. Nothing was "
            "changed."
        )
    message = f"It would go back {_destination(state, reverting)}."
    if reverting.commit:
        message += (
            f" Files to write: {_listed(files.written)}. Files to remove: "
            f"{_listed(files.removed)}.{_kept(files.kept)}"
        )
    target = resolve_target(state, reverting)
    context = (
        f"would hold {counted(len(target.active), 'turn')}"
        if target is not None
        else "would stay what it is"
    )
    return f"{message} The context {context}."


def _listed(paths: Sequence[str]) -> str:
    rest = len(paths) - SHOWN_PATHS
    return (
        ", ".join(paths[:SHOWN_PATHS]) + (f" and {rest} more" if rest > 0 else "")
        if paths
        else "none"
    )


def _kept(paths: Sequence[str]) -> str:
    """Returns the sentence about files that others have changed, or that only git's rules of what
    to ignore have made appear or disappear; empty if there are none.
    """
    why = "because others changed them since, or what git ignores has changed"
    return f" Not touched, {why}: {_listed(paths)}." if paths else ""


def _destination(state: ThreadState, reverting: Reverting) -> str:
    if reverting.undo:
        return "to where the thread was before the last revert"
    if reverting.turn_id is None:
        return "to before the first turn"
    return f"to where the thread was after turn {state.turn_index[reverting.turn_id] + 1}"


def _files(reverting: Reverting, restored: Restored) -> str:
    if not reverting.commit:
        return "Files are as they were."
    if restored == (0, 0):
        return "The files were the same already."
    written = f"{counted(restored.written, 'file')} written{_named(reverting.written)}"
    removed = f"{restored.removed} removed{_named(reverting.removed)}"
    return f"{written}, {removed}; the state before is kept in a safety checkpoint."


def _named(paths: Sequence[str]) -> str:
    return f" ({_listed(paths)})" if paths else ""


def _has_summary(target: RevertTarget) -> bool:
    return target.point is not None and (target.is_sealed or target.point.summary is not None)


_REVERT_STEPS = {
    Phase.REQUESTED: "looking at the files",
    Phase.CHECKPOINTING: "looking at the files",
    Phase.STARTING: "preparing the session",
    Phase.RESTORING: "restoring the files",
}


def failure_message(operation: Operation, detail: str) -> str:
    """Returns the message for an operation that failed, with the consequence for the thread."""
    detail = detail.rstrip(".")
    if operation.reverting is not None:
        return (
            f"The revert failed while {_REVERT_STEPS[operation.phase]}, and everything is as it "
            f"was: {detail}."
        )
    if operation.is_summarizing and operation.kind != "overflow":
        return f"The {_written(operation)} failed and nothing has changed: {detail}."
    if operation.kind == "overflow":
        return (
            "The turn did not fit into the context and could not be tried again in a smaller one: "
            f"{detail}. {AFTER_OVERFLOW}"
        )
    if operation.kind == DELETE:
        return f"The thread was not deleted: {detail}."
    if operation.kind == "start":
        return f"The session could not be started: {detail}."
    done = "The trim was undone" if operation.kind == "undo" else "The context was trimmed"
    return (
        f"{done}, but the new session could not be started yet; the next turn will start it: "
        f"{detail}."
    )


def cancelled_message(operation: Operation) -> str:
    """Returns the message for an operation that a person cancelled."""
    return f"The {_written(operation)} was cancelled and nothing has changed."


def _written(operation: Operation) -> str:
    return {DRAFT: "draft", HANDOFF: "brief"}.get(operation.kind, "compaction")


EDITED = "The context begins with your summary now. Files are as they were."
DRAFTED = "The summary is drafted, and nothing has changed yet."
BRIEFED = "The brief of a new thread is drafted, and nothing has changed yet."


def _left_behind(not_carried: list[str], approvals: bool) -> str:
    said = f" Not carried over: {', '.join(not_carried)}." if not_carried else ""
    return said + (
        " What you approved for the session will be asked for again." if approvals else ""
    )


def _cleared(state: ThreadState, point: TrimPoint) -> str:
    kept = state.active_turn_count
    if not point.pruned_turn_count:
        gone = "what was injected" if point.pruned_injected else "the summary"
        return f"Context cleared: {gone} left it, nothing kept. Files are as they were."
    rest = f"{last_turns(kept)} kept" if kept else "nothing kept"
    gone = f"Context cleared: {Left.of(state, point)} left it, {rest}."
    return f"{gone}{_brought_back(state)} Files are as they were."


def _brought_back(state: ThreadState) -> str:
    """Returns the sentence about turns that Codex had compacted and that are in the context again;
    empty if there are none.
    """
    back = turns_brought_back(state)
    return (
        f" {counted(back, 'turn')} of them that Codex had compacted came back word for word."
        if back
        else ""
    )


def _compacted(state: ThreadState, point: TrimPoint) -> str:
    injected_alone = point.pruned_injected and not point.pruned_turn_count
    count = (
        "what was injected is" if injected_alone else counted(point.pruned_message_count, "message")
    )
    if point.summary is None:
        return (
            f"Context compacted: {count} summarized. The provider keeps the summary sealed, so it "
            "cannot be shown."
        )
    kept = state.active_turn_count
    tail = f", {last_turns(kept)} kept word for word" if kept else ""
    return (
        f"Context compacted: {count} summarized{tail}. The context now holds "
        f"{counted(active_message_count(state), 'message')}."
    )


def _discarded(discard: Discard) -> str:
    verb = "Discarded" if discard.entry_ids else "Masked"
    if discard.trigger == CLEAR:
        verb = "Cleared"
    if discard.trigger == AUTO_MASK:
        verb = "Masked automatically, as the context filled up"
    return (
        f"{verb}: {removed_text(discard)} left the context and can still be read. Files are as "
        "they were."
    )


def _within_turn(state: ThreadState) -> str:
    """Returns what is said where a turn was paused for it; empty if none was."""
    if not is_paused(state):
        return ""
    parts = [entry.text for entry in state.entries_of(state.turns[-1]) if entry.is_part]
    words = sum(len(text.split()) for text in parts)
    lost = f"; {counted(words, 'word')} that the agent had begun to say did not" if words else ""
    return f" The work goes on in the next turn{lost}."


def _summarized(discard: Discard) -> str:
    count = counted(discard.summarized_messages, "message")
    return (
        f"Context compacted: {count} in the middle summarized, {removed_text(discard)}. What is "
        "around them stays word for word. Files are as they were."
    )


def _undone(state: ThreadState, boundary: Boundary) -> str:
    holds = f"it holds {counted(state.active_turn_count, 'turn')}"
    back = came_back(state, boundary)
    back = back[0].upper() + back[1:]
    return f"Undone: {called(boundary)}. {back}; {holds}. Files are as they were."


def _redone(state: ThreadState) -> str:
    boundary = newest_boundary(state)
    assert boundary is not None
    if isinstance(boundary, Discard):
        done = _discarded if boundary.summary is None else _summarized
        return f"Done again. {done(boundary)}"
    if boundary.trigger == EDIT:
        return f"Done again. {EDITED}"
    said = _compacted if boundary.summary is not None else _cleared
    return f"Done again. {said(state, boundary)}"
