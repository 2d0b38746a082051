"""What the answer to a trim says beside what was done: tokens before and after, and the way
back.
"""

from typing import assert_never

from trimpoint_protocol import commands as wire
from trimpoint_protocol.methods import TokenChange

from trimpoint.core.context.active_context import context_items, plan_trim
from trimpoint.core.context.context_size import ContextSize, context_size, overhead_tokens
from trimpoint.core.model.decision import Policy, counted
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_tokens

SUMMARY_TO_COME = "The summary is not counted, because it is not written yet."
NEW_SESSION = "An estimate: what instructions and tools took before."

Planned = wire.TrimContext | wire.CompactContext | wire.ArchiveAndNew


def token_change(before: ContextSize, after: ContextSize) -> TokenChange:
    """The two sizes, and one reason where either is an estimate."""
    return TokenChange(
        before=before.used,
        after=after.used,
        before_estimated=before.is_estimate,
        after_estimated=after.is_estimate,
        note=after.note or before.note,
    )


def tokens_text(change: TokenChange) -> str:
    """The change in a sentence."""
    before = f"{'about ' * change.before_estimated}{change.before:,}"
    if change.after is None:
        return f"The context holds {before} tokens before."
    after = f"{'about ' * change.after_estimated}{change.after:,}"
    return f"Context: {before} tokens before, {after} after."


def undo_command(state: ThreadState) -> str | None:
    """Returns what to type to have the context back that a trim took; None where no turn leads back
    to it.
    """
    return f"/revert {len(state.turns)} --context" if state.turns else None


def undo_line(undo: str) -> str:
    """The last line of an answer."""
    return f"To undo: {undo}"


def planned_change(state: ThreadState, command: Planned, policy: Policy) -> TokenChange:
    """Returns what an accepted command would do to the context."""
    before, overhead = context_size(state, policy), overhead_tokens(state)
    after: int | None
    match command:
        case wire.TrimContext():
            after, note = overhead + _kept_tokens(state, command), NEW_SESSION if overhead else None
        case wire.CompactContext():
            after, note = None, SUMMARY_TO_COME
        case wire.ArchiveAndNew():
            after, note = overhead, NEW_SESSION if overhead else None
        case _:
            assert_never(command)
    return TokenChange(
        before=before.used,
        after=after,
        before_estimated=before.is_estimate,
        after_estimated=True,
        note=note or before.note,
    )


def planned_text(state: ThreadState, command: Planned) -> str:
    """Returns what an accepted command would do, in a sentence."""
    match command:
        case wire.ArchiveAndNew():
            return (
                "Would archive the thread and start an empty one with the same files and settings."
            )
        case wire.TrimContext() | wire.CompactContext():
            verb = "clear" if isinstance(command, wire.TrimContext) else "summarize"
            plan = plan_trim(state, command.keep_last_n_turns or 0)
            if plan is None:
                return f"Would {verb} what the context begins with."
            gone = (
                f"{counted(plan.pruned_message_count, 'message')} in "
                f"{counted(plan.pruned_turn_count, 'turn')}"
            )
            kept = (
                f"the last {counted(len(plan.kept), 'turn')} kept" if plan.kept else "nothing kept"
            )
            return f"Would {verb} {gone}, {kept}."
        case _:
            assert_never(command)


def _kept_tokens(state: ThreadState, command: wire.TrimContext) -> int:
    plan = plan_trim(state, command.keep_last_n_turns or 0)
    kept = plan.kept if plan is not None else []
    return sum(map(estimate_tokens, context_items(state, command.summary, 0, kept)))
