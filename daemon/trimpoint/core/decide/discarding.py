"""The rules of discards: which segments may leave the active context, and which ones `/compress`
chooses (docs/spec/context.md).

Protected segments are never discarded, and at least the floor of tokens is always left. A request
is carried out in full or refused in full.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import has_sealed_summary
from trimpoint.core.context.generations import reopened_generation
from trimpoint.core.context.segment_kinds import SegmentKind
from trimpoint.core.context.segments import ContextSegment, context_segments
from trimpoint.core.decide.masking import (
    Mask,
    mask_of,
    masks_by_turn,
    proposed_masks,
    with_masks,
)
from trimpoint.core.decide.overflow import compacted_by_codex
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    LISTED,
    Accepted,
    Decision,
    DiscardPolicy,
    Rejected,
    Stamp,
    counted,
)
from trimpoint.core.model.ledger import qualified_entry_id
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import has_agent_tools

MAKE_ROOM = (
    CommandHint("/clear N", "keeps the last N turns"),
    CommandHint("/compact", "summarizes all of it"),
)
"""What works where nothing can be discarded alone."""
# The kinds of segments that `/compress` discards, in this order; the oldest of a kind first.
PRIORITY: tuple[SegmentKind, ...] = (
    SegmentKind.CONTEXT_TOOL,
    SegmentKind.HISTORY,
    SegmentKind.FILE_READ,
    SegmentKind.COMMAND,
    SegmentKind.CHECK,
    SegmentKind.TITLE,
    SegmentKind.MESSAGE,
)
SHOWN_IDS = 5

_WHY = {
    "newest": "belongs to the newest prompt and its answer",
    "codeChange": "changes code",
    "plan": "is a plan",
    "finalAnswer": "is a final answer",
    "summary": "is the summary of what came before",
    "pinned": "is pinned",
    "notRecorded": "was not recorded as the model saw it",
    "injected": "was injected and is part of no turn",
}


class CompressionPlan(NamedTuple):
    """The plan of `/compress`: all segments of the context, the ones to discard, and the masks of
    others.
    """

    segments: list[ContextSegment]
    chosen: list[ContextSegment]
    target_tokens: int
    floor_tokens: int
    masks: list[Mask]

    @property
    def total_tokens(self) -> int:
        """Returns the estimated tokens of the context before the discard."""
        return total_tokens(self.segments)

    @property
    def freed_tokens(self) -> int:
        """Returns the estimated tokens by which the context becomes smaller."""
        return total_tokens(self.chosen) + sum(mask.freed_tokens for mask in self.masks)

    @property
    def left_tokens(self) -> int:
        """Returns the estimated tokens of the context after the discard."""
        return self.total_tokens - self.freed_tokens

    @property
    def is_enough(self) -> bool:
        """Returns whether the context will be no larger than the target."""
        return self.left_tokens <= self.target_tokens


def total_tokens(units: Iterable[ContextSegment]) -> int:
    """Returns the sum of the estimated tokens of the segments."""
    return sum(map(attrgetter("tokens"), units))


def discard(
    state: ThreadState, command: wire.DiscardContext, stamp: Stamp, policy: DiscardPolicy
) -> Decision:
    """Decides the command `thread.context.discard`: returns the discard and the generation that it
    opens, or the rejection.
    """
    if (refusal := discard_refusal(state)) is not None:
        return refusal
    if (command.entry_ids is None) == (command.target_tokens is None):
        return Rejected(Reason.USAGE, "Say what to discard: either entryIds or targetTokens.")
    units = context_segments(state)
    if command.entry_ids is None:
        plan = plan_compression(
            state, command.target_tokens, policy, units, only_discard=command.only_discard
        )
        if isinstance(plan, Rejected):
            return plan
        if not plan.chosen and not plan.masks:
            return nothing_to_discard(plan)
        return removed(state, plan.chosen, plan.masks, stamp, command.trigger or "compress")
    chosen = _named(state, units, command.entry_ids)
    if isinstance(chosen, Rejected):
        return chosen
    if total_tokens(units) - total_tokens(chosen) < policy.floor_tokens:
        return _below_floor(units, chosen, total_tokens(chosen), policy)
    return removed(state, chosen, (), stamp, command.trigger or "discard")


def mask(
    state: ThreadState, command: wire.MaskContext, stamp: Stamp, policy: DiscardPolicy
) -> Decision:
    """Decides the command `thread.context.mask`: returns the masks and the generation that they
    open, or the rejection.
    """
    if (refusal := discard_refusal(state)) is not None:
        return refusal
    if command.entry_ids is None:
        said = "Say which turns to mask, such as 5 or 4..12."
        return Rejected(Reason.USAGE, said, hints=LISTED)
    units = context_segments(state)
    chosen = _named(state, units, command.entry_ids)
    if isinstance(chosen, Rejected):
        return chosen
    if again := [segment for segment in chosen if segment.is_masked]:
        return Rejected(
            Reason.ALREADY_DISCARDED,
            f"Nothing was masked: {_quoted(again[0].entry_ids)} is masked already.",
        )
    can_read = has_agent_tools(state.settings)
    found = [mask_of(state, segment, can_read=can_read) for segment in chosen]
    masks = [mask for mask in found if mask is not None]
    if len(masks) < len(chosen):
        masked = {mask.segment.short_id for mask in masks}
        bare = next(segment for segment in chosen if segment.short_id not in masked)
        return Rejected(
            Reason.NOTHING_TO_TRIM,
            f"Nothing was masked: {_quoted(bare.entry_ids)} has no output or image for which a "
            "placeholder would be smaller.",
        )
    freed = sum(mask.freed_tokens for mask in masks)
    if total_tokens(units) - freed < policy.floor_tokens:
        return _below_floor(units, chosen, freed, policy)
    return removed(state, (), masks, stamp, "mask")


def removed(
    state: ThreadState,
    chosen: Sequence[ContextSegment],
    masks: Sequence[Mask],
    stamp: Stamp,
    trigger: str,
) -> Accepted:
    """Returns the events that discard `chosen` and make `masks`, and open a generation."""
    started = ev.OperationStarted(stamp.id, "discard")
    return Accepted((started, *_opened(state, chosen, masks, stamp, trigger)), stamp.id)


def plan_compression(
    state: ThreadState,
    target_tokens: int | None,
    policy: DiscardPolicy,
    segments: list[ContextSegment] | None = None,
    *,
    only_discard: bool = False,
) -> CompressionPlan | Rejected:
    """Returns the plan of `/compress` or a rejection. If `target_tokens` is None, the configured
    target is used. `segments` are those of the context, if the caller has them already: to make
    them takes most of the time.

    Output is masked first, and what is still too much is discarded; with `only_discard` nothing is
    masked.
    """
    target = policy.target_tokens if target_tokens is None else target_tokens
    if (refusal := discard_refusal(state)) is not None:
        return refusal
    if target < policy.floor_tokens:
        floor = (
            f"Below {policy.floor_tokens:,} tokens too little would be left to continue with, so "
            f"{target:,} is no target."
        )
        return Rejected(Reason.USAGE, floor)
    units = context_segments(state) if segments is None else segments
    chosen: list[ContextSegment] = []
    left = total_tokens(units)
    proposed = () if only_discard else proposed_masks(state, units, target, policy)
    masks = {mask.segment.short_id: mask for mask in proposed}
    left -= sum(mask.freed_tokens for mask in masks.values())
    for segment in _by_priority(state, units):
        if left <= target:
            break
        mask = masks.get(segment.short_id)
        tokens = segment.tokens - (mask.freed_tokens if mask is not None else 0)
        if left - tokens >= policy.floor_tokens:
            chosen.append(segment)
            masks.pop(segment.short_id, None)
            left -= tokens
    return CompressionPlan(units, chosen, target, policy.floor_tokens, list(masks.values()))


def _by_priority(state: ThreadState, units: Sequence[ContextSegment]) -> Iterator[ContextSegment]:
    """Yields the segments that `/compress` may discard, in the order of their priority; none are of
    the newest turn.
    """
    newest = state.turns[-1].id if state.turns else ""
    for kind in PRIORITY:
        for segment in units:
            if (
                segment.kind is kind
                and segment.protected is None
                and segment.turn_id != newest
                and _is_addressed(segment)
            ):
                yield segment


def _is_addressed(segment: ContextSegment) -> bool:
    """Returns whether `/compress` may take the segment: prompts of earlier turns have been
    answered, but an answer of the agent is discarded only if a command names it.
    """
    return segment.kind is not SegmentKind.MESSAGE or segment.role == "user"


def discard_refusal(state: ThreadState) -> Rejected | None:
    """Returns None if segments can be discarded, else the rejection. Nothing can be discarded if
    the context begins with a sealed summary or Codex has compacted it, because a new session must
    be given all remaining raw items.
    """
    if has_sealed_summary(state):
        sealed = (
            "Only Codex can read the summary that the context begins with, so nothing can be taken "
            "out beside it."
        )
        return Rejected(Reason.NOT_SUPPORTED, sealed, hints=MAKE_ROOM)
    if compacted_by_codex(state):
        own = "Codex has compacted the context, so what it holds is not known item by item."
        return Rejected(Reason.NOT_SUPPORTED, own, hints=MAKE_ROOM)
    return None


def _named(
    state: ThreadState, units: Sequence[ContextSegment], names: Sequence[str]
) -> list[ContextSegment] | Rejected:
    by_name = {
        name: segment for segment in units for name in (*segment.entry_ids, *names_of(segment))
    }
    if missing := [name for name in names if name not in by_name]:
        return _unknown_entries(state, missing)
    chosen = list(
        {segment.short_id: segment for segment in (by_name[name] for name in names)}.values()
    )
    if kept := [segment for segment in chosen if segment.protected is not None]:
        reasons = "; ".join(
            f"{_quoted(segment.entry_ids)} {protection_reason(segment)}"
            for segment in kept[:SHOWN_IDS]
        )
        return Rejected(
            Reason.ENTRY_PROTECTED,
            f"Nothing was discarded, because some of it is protected: {reasons}{more(kept)}.",
        )
    return chosen


def names_of(segment: ContextSegment) -> list[str]:
    """Returns the qualified ids of the segment's entries."""
    return [qualified_entry_id(segment.turn_id, entry_id) for entry_id in segment.ids]


def protection_reason(segment: ContextSegment) -> str:
    """Returns why a protected segment stays, as the end of a sentence."""
    return _WHY[str(segment.protected)]


def _unknown_entries(state: ThreadState, names: Sequence[str]) -> Rejected:
    gone = {name for one in state.discards for name in one.entry_ids}
    gone |= {
        qualified_entry_id(turn, entry)
        for one in state.discards
        for turn, of_turn in one.entries.items()
        for entry in of_turn
    }
    if discarded := [name for name in names if name in gone]:
        return Rejected(
            Reason.ALREADY_DISCARDED,
            f"Nothing was discarded: {_quoted(discarded)} is out of the context already.",
        )
    known = "context/messages/list says what there is"
    return Rejected(
        Reason.ENTRY_NOT_FOUND,
        f"Nothing was discarded: the context holds no {_quoted(names)}; {known}.",
    )


def nothing_to_discard(plan: CompressionPlan) -> Rejected:
    """Returns the rejection that says why `/compress` discards nothing."""
    holds = f"the conversation takes about {plan.total_tokens:,} tokens of the context"
    if plan.is_enough:
        target = f"no more than the target of {plan.target_tokens:,}"
        return Rejected(
            Reason.NOTHING_TO_TRIM,
            f"Nothing to discard: {holds}, {target}.",
            hints=(CommandHint("/compress N", "takes N tokens as the target"), *MAKE_ROOM),
        )
    alone = "but none of it may be discarded alone"
    return Rejected(
        Reason.NOTHING_TO_TRIM, f"Nothing to discard: {holds}, {alone}.", hints=MAKE_ROOM
    )


def _below_floor(
    units: Sequence[ContextSegment],
    chosen: Sequence[ContextSegment],
    gone: int,
    policy: DiscardPolicy,
) -> Rejected:
    total = total_tokens(units)
    names = [name for segment in chosen for name in segment.entry_ids]
    would = f"about {total - gone:,} of {total:,} tokens would be left without {_quoted(names)}"
    return Rejected(
        Reason.BELOW_FLOOR,
        f"Nothing was discarded: {would}, less than the floor of {policy.floor_tokens:,}.",
        hints=MAKE_ROOM,
    )


def _opened(
    state: ThreadState,
    chosen: Sequence[ContextSegment],
    masks: Sequence[Mask],
    stamp: Stamp,
    trigger: str,
) -> tuple[ev.AnyEvent, ...]:
    """Returns the events of one record: the discard and the opening of generation n+1. A summary in
    the context stays.
    """
    number = state.generation.number + 1
    names = tuple(name for segment in chosen for name in segment.entry_ids)
    items: dict[str, tuple[int, ...]] = {}
    for segment in chosen:
        items[segment.turn_id] = (*items.get(segment.turn_id, ()), *segment.positions)
    discarded = ev.ContextDiscarded(
        state.id,
        stamp.id,
        stamp.now_ms,
        names,
        tuple(items.items()),
        number,
        trigger,
        total_tokens(chosen) + sum(mask.freed_tokens for mask in masks),
    )
    event: ev.AnyEvent = discarded
    if masks:
        names = tuple(name for mask in masks for name in mask.segment.entry_ids)
        report = state.usage.report
        used = report.used if report is not None else 0
        event = with_masks(discarded, names, masks_by_turn(masks), used)
    opened = reopened_generation(state, "discard")
    return (
        event,
        opened,
        ev.SessionStopRequested(number - 1),
        ev.SessionStartRequested(number),
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_IDS]) + more(names)


def more(things: Sequence[object]) -> str:
    """Returns the end of a list of which `SHOWN_IDS` things are named; empty if that is all."""
    left = len(things) - SHOWN_IDS
    return f" and {counted(left, 'other')}" if left > 0 else ""
