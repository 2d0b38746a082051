"""The rules of masks: which segments can be masked, what that frees, and which ones `/compress`
masks before it discards (docs/spec/context.md).
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from trimpoint.core.context.removals import freed_by_masks
from trimpoint.core.context.segments import ContextSegment
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import has_agent_tools

WORTH_A_MASK: Final = 50
"""What a mask must free, in estimated tokens, for `/compress` to make it."""


NEWEST_OUTPUTS: Final = 10
"""How many of the newest outputs stay where output is masked within a turn."""


class Mask(NamedTuple):
    """A segment that is to be masked. `items` are the positions of those of its raw items that get
    a placeholder, each with the id by which the agent can read it in the history, else an empty
    string; `freed_tokens` is the estimate of what that frees.
    """

    segment: ContextSegment
    items: tuple[tuple[int, str], ...]
    freed_tokens: int


class _Frees(Protocol):
    @property
    def freed_tokens(self) -> int: ...


Freeing = TypeVar("Freeing", bound=_Frees)
"""A mask, of a thread or of a log."""


def mask_of(state: ThreadState, segment: ContextSegment, *, can_read: bool) -> Mask | None:
    """Returns the mask of a segment, or None if it has no output and no image that a placeholder
    would make smaller.
    """
    items = state.turns[state.turn_index[segment.turn_id]].items
    named = {at: _history_id(state, segment, at) if can_read else "" for at in segment.positions}
    freed = freed_by_masks(items, named)
    if not freed:
        return None
    return Mask(segment, tuple((at, named[at]) for at in freed), sum(freed.values()))


def proposed_masks(
    state: ThreadState,
    segments: Sequence[ContextSegment],
    target_tokens: int,
    policy: DiscardPolicy,
) -> Iterator[Mask]:
    """Yields masks of tool calls, the oldest first, until the context is down to `target_tokens`;
    none are of the newest turns, and none would leave less than the floor.
    """
    newest = {turn.id for turn in state.turns[newest_from(len(state.turns), policy) :]}
    older = (segment for segment in segments if segment.turn_id not in newest)
    return worthwhile(_masks(state, older), _weight(segments), target_tokens, policy)


def proposed_within(
    state: ThreadState,
    segments: Sequence[ContextSegment],
    target_tokens: int,
    policy: DiscardPolicy,
) -> Iterator[Mask]:
    """Yields masks as `proposed_masks` does, but while a turn goes on: of all turns, but none of
    the `NEWEST_OUTPUTS` outputs that are worth a mask.
    """
    masks = [mask for mask in _masks(state, segments) if mask.freed_tokens >= WORTH_A_MASK]
    return worthwhile(masks[:-NEWEST_OUTPUTS], _weight(segments), target_tokens, policy)


def _masks(state: ThreadState, segments: Iterable[ContextSegment]) -> Iterator[Mask]:
    """Yields the masks of those segments that are tool calls and can be masked."""
    can_read = has_agent_tools(state.settings)
    for segment in segments:
        if segment.role == "tool" and segment.protected is None and not segment.is_masked:
            mask = mask_of(state, segment, can_read=can_read)
            if mask is not None:
                yield mask


def _weight(segments: Iterable[ContextSegment]) -> int:
    return sum(map(attrgetter("tokens"), segments))


def newest_from(turns: int, policy: DiscardPolicy) -> int:
    """Returns how many turns of so many are not among the newest, whose output stays."""
    return max(0, turns - policy.keep_turns)


def worthwhile(
    masks: Iterable[Freeing], left: int, target_tokens: int, policy: DiscardPolicy
) -> Iterator[Freeing]:
    """Yields those masks that are made, until the context, of which `left` tokens are left, is down
    to `target_tokens`: each frees something, and none would leave less than the floor.
    """
    for mask in masks if left > target_tokens else ():
        if mask.freed_tokens >= WORTH_A_MASK and left - mask.freed_tokens >= policy.floor_tokens:
            left -= mask.freed_tokens
            yield mask
            if left <= target_tokens:
                return


def with_masks(
    discarded: ev.ContextDiscarded,
    masked_entry_ids: tuple[str, ...],
    masks: tuple[tuple[str, tuple[tuple[int, str], ...]], ...],
    used_tokens: int = 0,
) -> ev.ContextMasked:
    """Returns the event of a discard that also masks. `used_tokens` is the size of the context."""
    fields = msgspec.structs.asdict(discarded)
    return ev.ContextMasked(
        **fields, masked_entry_ids=masked_entry_ids, masks=masks, used_tokens=used_tokens
    )


def masks_by_turn(
    masks: Iterable[Mask],
) -> tuple[tuple[str, tuple[tuple[int, str], ...]], ...]:
    """Returns the masks in the form that the event has."""
    by_turn: dict[str, list[tuple[int, str]]] = {}
    for mask in masks:
        by_turn.setdefault(mask.segment.turn_id, []).extend(mask.items)
    return tuple((turn_id, tuple(of_turn)) for turn_id, of_turn in by_turn.items())


def _history_id(state: ThreadState, segment: ContextSegment, position: int) -> str:
    """Returns the id by which `read_history` finds the item's entry, or an empty string."""
    at = state.turn_index[segment.turn_id]
    turn = state.turns[at]
    item: dict[str, Any] = msgspec.json.decode(turn.items[position])
    places = [
        (entry.id != item.get("call_id"), place)
        for place, entry in enumerate(state.entries_of(turn), 1)
        if entry.id in segment.ids
    ]
    return f"h{at + 1}.{min(places)[1]}" if places else ""
