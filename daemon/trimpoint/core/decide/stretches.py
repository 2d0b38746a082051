"""The rules of a trim of turns in the middle, such as `/clear 4..12`: they leave the context whole,
and what is around them stays word for word (docs/spec/context.md).

It is a discard, so that undo, reverts, forks and exports need no rule of their own for it.
"""

from typing import NamedTuple

from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.segments import NOT_RECORDED, PINNED, ContextSegment, context_segments
from trimpoint.core.decide.discarding import discard_refusal, removed, total_tokens
from trimpoint.core.model.decision import LISTED, Decision, Rejected, Stamp, counted
from trimpoint.core.model.state import ThreadState

CLEAR = "clear"
"""The trigger of a discard of whole turns."""
_EARLIER = (CommandHint("/timeline", "shows what has left the context"),)


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
        count = sum(len(segment.entry_ids) for segment in self.segments)
        entries = "1 entry" if count == 1 else f"{count:,} entries"
        return f"{turns}, {entries} of about {self.tokens:,} tokens"


def names_stretch(command: wire.TrimContext) -> bool:
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


def stretch_of(state: ThreadState, command: wire.TrimContext) -> Stretch | Rejected:
    """Returns the turns that the command names, or the rejection. Without a first turn it begins
    with the first one in the context, without a last turn it ends with the newest.
    """
    if command.keep_last_n_turns is not None or command.summary is not None:
        both = "Say either which turns to clear, or what to keep."
        return Rejected(Reason.USAGE, both)
    if (refusal := discard_refusal(state)) is not None:
        return refusal
    begins, count = state.active_from_turn + 1, len(state.turns)
    first, last = command.from_turn or begins, command.through_turn or count
    if (refusal := _misplaced(state, first, last)) is not None:
        return refusal
    if first < begins:
        gone = turns_text(first, min(last, begins - 1))
        return Rejected(
            Reason.NOTHING_TO_TRIM,
            f"Nothing was cleared: {gone} left the context earlier. It begins with turn {begins}.",
            hints=_EARLIER,
        )
    return _whole(state, first, last)


def _misplaced(state: ThreadState, first: int, last: int) -> Rejected | None:
    if (named := max(first, last)) > len(state.turns):
        has = counted(len(state.turns), "turn")
        there_is_not = f"There is no turn {named}: the thread has {has}."
        return Rejected(Reason.TURN_NOT_FOUND, there_is_not, hints=LISTED)
    if first > last:
        return Rejected(Reason.USAGE, f"{first}..{last} ends before it begins.", hints=LISTED)
    return None


def _whole(state: ThreadState, first: int, last: int) -> Stretch | Rejected:
    ids = {turn.id: number for number, turn in enumerate(state.turns[first - 1 : last], first)}
    inside = [one for one in context_segments(state) if one.turn_id in ids]
    if missing := [one for one in inside if one.protected == NOT_RECORDED]:
        number = ids[missing[0].turn_id]
        said = f"Nothing was cleared: turn {number} was not recorded as the model saw it."
        return Rejected(Reason.NOT_SUPPORTED, said, hints=(CommandHint("/clear N", "keeps turns"),))
    segments = [one for one in inside if one.protected != PINNED]
    if not segments:
        why = "is pinned" if inside else "has left the context already"
        said = f"Nothing was cleared: all of {turns_text(first, last)} {why}."
        return Rejected(Reason.NOTHING_TO_TRIM, said, hints=_EARLIER)
    return Stretch(first, last, segments)
