"""Renders the plan of `/compress` for a person and for a program."""

from itertools import groupby
from typing import NamedTuple

from trimpoint_protocol.methods import CompressionClass, CompressionPreview, TokenChange

from trimpoint.core.context.segment_kinds import SegmentKind
from trimpoint.core.decide.discarding import (
    PRIORITY,
    CompressionPlan,
    nothing_to_discard,
    plan_compression,
    total_tokens,
)
from trimpoint.core.model.decision import Policy, Rejected
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.trim_outcome import change_by_discard

_CLASSES: dict[SegmentKind, str] = {
    SegmentKind.CONTEXT_TOOL: "listings of the context",
    SegmentKind.HISTORY: "what was looked up in the history",
    SegmentKind.FILE_READ: "file reads",
    SegmentKind.COMMAND: "command output",
    SegmentKind.CHECK: "quick checks",
    SegmentKind.TITLE: "titles",
    SegmentKind.MESSAGE: "old prompts",
}

_MASKED = "old output, one line in its place"


class RefusedCompression(NamedTuple):
    """A `/compress` that would discard nothing, and why."""

    preview: CompressionPreview
    refusal: Rejected


class RehearsedCompression(NamedTuple):
    """What `/compress` would do, and what would become of the context's size."""

    preview: CompressionPreview
    text: str
    change: TokenChange


def rehearsed(
    state: ThreadState, target: int | None, policy: Policy, *, only_discard: bool
) -> RehearsedCompression | RefusedCompression | Rejected:
    """Returns what `/compress` would do, or the rejection if nothing can be discarded at all."""
    plan = plan_compression(state, target, policy.discard, only_discard=only_discard)
    if isinstance(plan, Rejected):
        return plan
    preview = compression_preview(plan)
    if not plan.chosen and not plan.masks:
        return RefusedCompression(preview, nothing_to_discard(plan))
    change = change_by_discard(state, plan.freed_tokens, policy)
    return RehearsedCompression(preview, preview_text(plan), change)


def compression_preview(plan: CompressionPlan) -> CompressionPreview:
    """Returns the plan in the form that clients receive."""
    by_kind = [
        (kind, list(units))
        for kind, units in groupby(plan.chosen, key=lambda segment: segment.kind)
    ]
    classes = [
        CompressionClass(kind=str(kind), count=len(units), est_tokens=total_tokens(units))
        for kind, units in sorted(by_kind, key=lambda one: PRIORITY.index(one[0]))
    ]
    return CompressionPreview(
        classes=classes,
        entry_ids=[name for segment in plan.chosen for name in segment.entry_ids],
        total_est_tokens=plan.total_tokens,
        left_est_tokens=plan.left_tokens,
        target_tokens=plan.target_tokens,
        floor_tokens=plan.floor_tokens,
        masked_entry_ids=[name for mask in plan.masks for name in mask.segment.entry_ids],
        masked_count=len(plan.masks),
        masked_est_tokens=sum(mask.freed_tokens for mask in plan.masks),
    )


def preview_text(plan: CompressionPlan) -> str:
    """Returns the plan as text for a person, one line for each kind of segment."""
    preview = compression_preview(plan)
    lines = [
        f"  {_CLASSES[SegmentKind(one.kind)]}: {one.count}, about {one.est_tokens:,} tokens"
        for one in preview.classes
    ]
    if plan.masks:
        freed = f"{preview.masked_count}, about {preview.masked_est_tokens:,} tokens"
        lines.insert(0, f"  {_MASKED}: {freed}")
    verb, gone = "free" if plan.masks else "discard", plan.freed_tokens
    would = f"Would {verb} about {gone:,} of the {plan.total_tokens:,} tokens of the conversation:"
    return "\n".join([would, *lines, remaining_text(plan.left_tokens, plan.target_tokens)])


def remaining_text(left_tokens: int, target_tokens: int) -> str:
    """Returns a sentence with the number of tokens left; if it is above the target, the sentence
    says why.
    """
    left = f"About {left_tokens:,} tokens of the conversation are left"
    if left_tokens <= target_tokens:
        return f"{left}, within the target of {target_tokens:,}."
    return (
        f"{left}, more than the target of {target_tokens:,}: the rest is protected, or goes only "
        "when it is named."
    )
