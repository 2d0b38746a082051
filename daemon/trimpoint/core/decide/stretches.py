"""The rules of commands for turns in the middle, such as `/clear 4..12` and `/mask 4..12`: what is
around these turns stays word for word (docs/spec/context.md).

Each is a discard, so that undo, reverts, forks and exports need no rule of their own for it.
"""

from typing import NamedTuple

from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.segments import NOT_RECORDED, PINNED, ContextSegment, context_segments
from trimpoint.core.decide.discarding import (
    SHOWN_IDS,
    discard_refusal,
    more,
    protection_reason,
    removed,
    total_tokens,
)
from trimpoint.core.decide.masking import Mask, mask_of
from trimpoint.core.model.decision import LISTED, Decision, Rejected, Stamp, counted
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import has_agent_tools

CLEAR = "clear"
"""The trigger of a discard of whole turns."""
_EARLIER = (CommandHint("/timeline", "shows what has left the context"),)
_OUTPUT = (CommandHint("/context", "shows what the context holds"),)

OfTurns = wire.TrimContext | wire.CompactContext | wire.MaskContext


class Stretch(NamedTuple):
    """Turns in the middle of the context, numbered from 1, and the segments of them that would
    leave it: all but what is pinned.
    """

    first: int
    last: int
    segments: list[ContextSegment]

    @property
    def tokens(self) -> int:
        """Returns the estimated tokens that would leave the context."""
        return total_tokens(self.segments)

    @property
    def text(self) -> str:
        """Returns what would leave the context, as a part of a sentence."""
        turns = turns_text(self.first, self.last)
        return f"{turns}, {_entries(self.segments)} of about {self.tokens:,} tokens"


class MaskedStretch(NamedTuple):
    """Turns in the middle of the context, numbered from 1: the masks of their output, and the
    segments with output that stay as they are, because they are protected.
    """

    first: int
    last: int
    masks: list[Mask]
    protected: list[ContextSegment]

    @property
    def tokens(self) -> int:
        """Returns the estimated tokens that would leave the context."""
        return sum(mask.freed_tokens for mask in self.masks)

    @property
    def text(self) -> str:
        """Returns what would leave the context, as a part of a sentence."""
        count = _entries([mask.segment for mask in self.masks])
        turns = turns_text(self.first, self.last)
        return f"the output of {count} of {turns}, about {self.tokens:,} tokens"

    @property
    def left_text(self) -> str:
        """Returns a sentence that names the output that stays; empty if there is none."""
        named = "; ".join(
            f"“{one.preview}” {protection_reason(one)}" for one in self.protected[:SHOWN_IDS]
        )
        return f"Left as it is: {named}{more(self.protected)}." if named else ""


def names_stretch(command: OfTurns) -> bool:
    """Returns whether the command names turns in the middle."""
    return command.from_turn is not None or command.through_turn is not None


def turns_text(first: int, last: int) -> str:
    """Returns the turns as a person reads them."""
    return f"turn {first}" if first == last else f"turns {first} to {last}"


def clear_stretch(state: ThreadState, command: wire.TrimContext, stamp: Stamp) -> Decision:
    """Decides `/clear 4..12`: returns the discard and the generation that it opens, or the
    rejection.
    """
    found = stretch_of(state, command)
    if isinstance(found, Rejected):
        return found
    return removed(state, found.segments, (), stamp, CLEAR)


def mask_stretch(state: ThreadState, command: wire.MaskContext, stamp: Stamp) -> Decision:
    """Decides `/mask 4..12`: returns the masks and the generation that they open, or the
    rejection.
    """
    found = masked_stretch_of(state, command)
    if isinstance(found, Rejected):
        return found
    if not found.masks:
        turns = turns_text(found.first, found.last)
        said = f"Nothing was masked: no output of {turns} can become smaller by it."
        return Rejected(Reason.NOTHING_TO_TRIM, f"{said} {found.left_text}".rstrip(), hints=_OUTPUT)
    return removed(state, (), found.masks, stamp, "mask")


def stretch_of(state: ThreadState, command: wire.TrimContext) -> Stretch | Rejected:
    """Returns the turns that the command names, or the rejection. Without a first turn it begins
    with the first one in the context, without a last turn it ends with the newest.
    """
    if command.keep_last_n_turns is not None or command.summary is not None:
        both = "Say either which turns to clear, or what to keep."
        return Rejected(Reason.USAGE, both)
    ends = ends_of(state, command, "cleared")
    return ends if isinstance(ends, Rejected) else whole(state, *ends, "cleared")


def masked_stretch_of(state: ThreadState, command: wire.MaskContext) -> MaskedStretch | Rejected:
    """Returns what the command would mask, or the rejection; the ends are those of `stretch_of`."""
    if command.entry_ids is not None:
        return Rejected(Reason.USAGE, "Say either which turns to mask, or which entries.")
    ends = ends_of(state, command, "masked")
    if isinstance(ends, Rejected):
        return ends
    can_read = has_agent_tools(state.settings)
    masks, protected = list[Mask](), list[ContextSegment]()
    for segment in _inside(state, *ends):
        mask = None if segment.is_masked else mask_of(state, segment, can_read=can_read)
        if mask is not None and segment.protected is not None:
            protected.append(segment)
        elif mask is not None:
            masks.append(mask)
    return MaskedStretch(*ends, masks, protected)


def ends_of(state: ThreadState, command: OfTurns, done: str) -> tuple[int, int] | Rejected:
    """Returns the numbers of the first and the last turn that the command names, or the rejection.
    `done` is what would have been done to them.
    """
    if (refusal := discard_refusal(state)) is not None:
        return refusal
    begins, count = state.active_from_turn + 1, len(state.turns)
    first, last = command.from_turn or begins, command.through_turn or count
    if (refusal := _misplaced(state, first, last)) is not None:
        return refusal
    if first < begins:
        gone = turns_text(first, min(last, begins - 1))
        said = f"Nothing was {done}: {gone} left the context earlier. It begins with turn {begins}."
        return Rejected(Reason.NOTHING_TO_TRIM, said, hints=_EARLIER)
    return first, last


def _misplaced(state: ThreadState, first: int, last: int) -> Rejected | None:
    if (named := max(first, last)) > len(state.turns):
        has = counted(len(state.turns), "turn")
        there_is_not = f"There is no turn {named}: the thread has {has}."
        return Rejected(Reason.TURN_NOT_FOUND, there_is_not, hints=LISTED)
    if first > last:
        return Rejected(Reason.USAGE, f"{first}..{last} ends before it begins.", hints=LISTED)
    return None


def _inside(state: ThreadState, first: int, last: int) -> list[ContextSegment]:
    ids = {turn.id for turn in state.turns[first - 1 : last]}
    return [one for one in context_segments(state) if one.turn_id in ids]


def whole(state: ThreadState, first: int, last: int, done: str) -> Stretch | Rejected:
    """Returns what of these turns can leave the context, or the rejection; `done` as in
    `ends_of`.
    """
    if (summarized := _summarized_in(state, first, last)) is not None:
        turns = turns_text(*summarized)
        said = f"Nothing was {done}: a summary stands in the place of {turns}."
        return Rejected(Reason.ALREADY_DISCARDED, said, hints=_EARLIER)
    inside = _inside(state, first, last)
    if missing := [one for one in inside if one.protected == NOT_RECORDED]:
        number = state.turn_index[missing[0].turn_id] + 1
        said = f"Nothing was {done}: turn {number} was not recorded as the model saw it."
        return Rejected(Reason.NOT_SUPPORTED, said, hints=(CommandHint("/clear N", "keeps turns"),))
    segments = [one for one in inside if one.protected != PINNED]
    if not segments:
        why = "is pinned" if inside else "has left the context already"
        said = f"Nothing was {done}: all of {turns_text(first, last)} {why}."
        return Rejected(Reason.NOTHING_TO_TRIM, said, hints=_EARLIER)
    return Stretch(first, last, segments)


def _summarized_in(state: ThreadState, first: int, last: int) -> tuple[int, int] | None:
    """Returns the ends of a stretch that is summarized and has turns between `first` and `last`;
    None if there is none.
    """
    for discard in (one for one in state.discards if one.summary is not None):
        numbers = [state.turn_index[turn_id] + 1 for turn_id in discard.positions]
        if numbers[0] <= last and first <= numbers[-1]:
            return numbers[0], numbers[-1]
    return None


def _entries(segments: list[ContextSegment]) -> str:
    return counted(sum(len(segment.entry_ids) for segment in segments), "entry")
