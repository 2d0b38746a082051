"""Divides the active context into segments, and says which of them are protected from discards
(docs/spec/context.md).

A segment leaves the context as a whole (`core/context/groups.py`). Its short id has the number of
its turn in the thread and its own number in the turn. The id stays valid for as long as the context
does, whatever is discarded or added.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from trimpoint.core.context.active_context import (
    call_id,
    current_summary,
    injectable_positions,
    is_call,
    is_output,
    message_item,
)
from trimpoint.core.context.groups import ItemGroup, grouped
from trimpoint.core.context.pins import pin_tokens, standing_pins
from trimpoint.core.context.removals import discarded_positions, masked_item, masks_of
from trimpoint.core.context.segment_kinds import SegmentKind, kind_of, preview, preview_of
from trimpoint.core.context.summary_items import standing_summaries, summary_in, summary_item
from trimpoint.core.model.ledger import Entry, Turn, qualified_entry_id
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_tokens

SUMMARY_ID: Final = "summary"
# The beginning of the prompt that the daemon sends after an agent has reduced its context. The
# person did not write it.
FOLLOW_UP_PREFIX: Final = "<context-reduced>"
# The reasons why a segment is protected, as clients receive them.
NEWEST: Final = "newest"
CODE_CHANGE: Final = "codeChange"
PLAN: Final = "plan"
FINAL_ANSWER: Final = "finalAnswer"
SUMMARY: Final = "summary"
NOT_RECORDED: Final = "notRecorded"
PINNED: Final = "pinned"
INJECTED: Final = "injected"
_FREED_AT_ONCE: Final = 4096


class ContextSegment(NamedTuple):
    """One segment. `role`: user | assistant | tool. `protected`: the reason why it cannot be
    discarded, or None. `positions` are the positions of its raw items in the turn.

    `is_masked` says that a placeholder is in the place of an output or image of it, which `tokens`
    takes into account.

    `ids` are the ids of its entries, or one invented id if it has no entry. `entry_ids` are for the
    same entries, qualified where needed so that they are unique in the context.
    """

    short_id: str
    turn_id: str
    positions: tuple[int, ...]
    ids: tuple[str, ...]
    entry_ids: tuple[str, ...]
    role: str
    kind: SegmentKind
    preview: str
    tokens: int
    protected: str | None
    is_masked: bool = False


class Segments(list[ContextSegment]):
    """A list of segments that is freed piece by piece: to free a long one at once would let no
    other thread run meanwhile.
    """

    def __del__(self) -> None:
        while self:
            del self[-_FREED_AT_ONCE:]


def context_segments(state: ThreadState) -> Segments:
    """Returns the segments of the active context in the order in which the model sees them, without
    discarded ones.
    """
    segments: list[ContextSegment] = []
    if (summary := current_summary(state)) is not None:
        segments.append(_summary(SUMMARY_ID, "", summary_item(summary.text, summary.messages)))
    segments.extend(_carried(state))
    summaries = standing_summaries(state.discards, state.active_turns)
    # The first items of the first turn that the summary covers.
    skipped = state.generation.skipped_items
    injected = count(1)
    for index, turn in enumerate(state.active_turns, state.active_from_turn):
        segments.extend(map(_injected, injected, turn.injected_before))
        if (standing := summaries.get(turn.id)) is not None and standing[0] >= skipped:
            segments.append(_summary(f"{SUMMARY_ID}{index + 1}", turn.id, standing[1]))
        segments.extend(_segments_of(state, index, skipped))
        skipped = 0
    segments.extend(map(_injected, injected, state.active_injected))
    return Segments(
        _with_pinned_protected(state, _with_newest_protected(_with_unique_ids(segments)))
    )


def _summary(short_id: str, turn_id: str, item: bytes) -> ContextSegment:
    return ContextSegment(
        short_id=short_id,
        turn_id=turn_id,
        positions=(),
        ids=(),
        entry_ids=(),
        role="user",
        kind=SegmentKind.SUMMARY,
        preview=preview(summary_in(item)),
        tokens=estimate_tokens(item),
        protected=SUMMARY,
    )


def _carried(state: ThreadState) -> Iterator[ContextSegment]:
    """Yields the segments after the summary that are in the context because they are pinned."""
    carried = [pin for pin in standing_pins(state) if pin.id in state.generation.pins]
    for number, pin in enumerate(carried, 1):
        text = pin.note
        if pin.turn_id is not None:
            entries = state.entries_of(state.turns[state.turn_index[pin.turn_id]])
            text = next((entry.text for entry in entries if entry.role == "user"), "")
        yield ContextSegment(
            short_id=f"p{number}",
            turn_id=pin.turn_id or "",
            positions=(),
            ids=(),
            entry_ids=(),
            role="user",
            kind=SegmentKind.MESSAGE,
            preview=preview(text),
            tokens=pin_tokens(state, pin),
            protected=PINNED,
        )


def _injected(number: int, raw: bytes) -> ContextSegment:
    """Returns the segment of an item that a client injected while no turn was in the context."""
    item = msgspec.json.decode(raw)
    [group] = grouped([item], ())
    ids = (f"@injected-{number}",)
    return ContextSegment(
        short_id=f"i{number}",
        turn_id="",
        positions=(),
        ids=ids,
        entry_ids=ids,
        role=_role(group),
        kind=kind_of(group),
        preview=preview_of(group),
        tokens=estimate_tokens(raw),
        protected=INJECTED,
    )


def _with_pinned_protected(
    state: ThreadState, segments: list[ContextSegment]
) -> list[ContextSegment]:
    pinned = {pin.turn_id for pin in state.pins}
    return [
        segment._replace(protected=PINNED) if segment.turn_id in pinned else segment
        for segment in segments
    ]


def _segments_of(state: ThreadState, index: int, skipped: int) -> Iterator[ContextSegment]:
    turn = state.turns[index]
    entries = state.entries[turn.first_entry_index : state.entries_end(index)]
    if turn.items:
        yield from _recorded_segments(state, turn, index, entries, skipped)
        return
    # The raw items are not recorded; a new session would be given the messages.
    messages = [entry for entry in entries if entry.is_message_of_model]
    for number, entry in enumerate(messages, 1):
        name, tokens = _short_id(index, number), estimate_tokens(message_item(entry))
        ids = (entry.id,)
        yield ContextSegment(
            name,
            turn.id,
            (),
            ids,
            ids,
            entry.role,
            SegmentKind.MESSAGE,
            preview(entry.text),
            tokens,
            NOT_RECORDED,
        )


def _recorded_segments(
    state: ThreadState, turn: Turn, index: int, entries: Sequence[Entry], skipped: int
) -> Iterator[ContextSegment]:
    items: list[dict[str, Any]] = [msgspec.json.decode(item) for item in turn.items]
    groups = grouped(items, entries)
    gone = discarded_positions(turn.id, state.discards) | _unanswered(turn, items)
    masks = masks_of(turn.id, state.discards)
    shown = frozenset(at for at in injectable_positions(items) if at >= skipped and at not in gone)
    kinds = [*map(kind_of, groups)]
    stays = _protections(turn, groups, kinds)
    for number, (group, kind, protected) in enumerate(zip(groups, kinds, stays, strict=True), 1):
        positions = tuple(position for position in group.positions if position in shown)
        if positions:
            ids = tuple(entry.id for entry in group.entries) or (f"@{positions[0]}",)
            tokens = sum(
                estimate_tokens(masked_item(turn.items[at], masks.get(at))) for at in positions
            )
            yield ContextSegment(
                _short_id(index, number),
                turn.id,
                positions,
                ids,
                ids,
                _role(group),
                kind,
                preview_of(group),
                tokens,
                protected,
                not masks.keys().isdisjoint(positions),
            )


def _unanswered(turn: Turn, items: Sequence[dict[str, Any]]) -> frozenset[int]:
    """Returns the positions of calls that still run. If one was discarded, its later result would
    have no call.
    """
    if turn.status != "running":
        return frozenset()
    answered = {call_id(item) for item in items if is_output(item)}
    return frozenset(
        at for at, item in enumerate(items) if is_call(item) and call_id(item) not in answered
    )


def _short_id(turn_index: int, number: int) -> str:
    return f"m{turn_index + 1}.{number}"


def _role(group: ItemGroup) -> str:
    if group.calls:
        return "tool"
    return str(group.said[0][0]) if group.said else "assistant"


def _protections(
    turn: Turn, groups: Sequence[ItemGroup], kinds: Sequence[SegmentKind]
) -> list[str | None]:
    """Returns the reason why each group of the turn is protected, or None, as far as it follows
    from the turn alone.
    """
    if not turn.items_complete and turn.status != "running":
        return [NOT_RECORDED] * len(groups)
    finals = _final_answers(turn, groups)
    # If there are several such calls, it is unknown which one made the change.
    hidden_change = any(
        group.is_anonymous and kind is SegmentKind.FILE_CHANGE
        for group, kind in zip(groups, kinds, strict=True)
    )
    return [
        _protection(kind, id(group) in finals, hidden_change and group.is_anonymous)
        for group, kind in zip(groups, kinds, strict=True)
    ]


def _protection(kind: SegmentKind, is_final: bool, may_be_change: bool) -> str | None:
    if kind is SegmentKind.FILE_CHANGE or may_be_change:
        return CODE_CHANGE
    if kind is SegmentKind.PLAN:
        return PLAN
    return FINAL_ANSWER if is_final else None


def _final_answers(turn: Turn, groups: Sequence[ItemGroup]) -> set[int]:
    """Returns the `id()` of each group with a final answer: as marked by Codex, else the last
    answer of an ended turn.
    """
    answers = [
        group for group in groups if any(item.get("role") == "assistant" for item in group.items)
    ]
    finals = {
        id(group)
        for group in answers
        if any(item.get("phase") == "final_answer" for item in group.items)
    }
    if not finals and answers and turn.status != "running":
        finals = {id(answers[-1])}
    return finals


def _with_unique_ids(segments: list[ContextSegment]) -> list[ContextSegment]:
    """Returns the segments with unique `entry_ids`: an id that is used once stays as it is, others
    are qualified with their turn.
    """
    given = Counter(entry_id for segment in segments for entry_id in segment.ids)
    ambiguous = {name for name, count in given.items() if count > 1 or name.startswith("@")}
    return [
        segment
        if ambiguous.isdisjoint(segment.ids)
        else segment._replace(
            entry_ids=tuple(
                qualified_entry_id(segment.turn_id, name) if name in ambiguous else name
                for name in segment.ids
            )
        )
        for segment in segments
    ]


def _is_follow_up(segment: ContextSegment) -> bool:
    return segment.preview.startswith(FOLLOW_UP_PREFIX)


def _with_newest_protected(segments: list[ContextSegment]) -> list[ContextSegment]:
    """Returns the segments with the newest prompt and all later messages protected; tool calls
    among them are not.
    """
    messages = [
        segment
        for segment in segments
        if segment.role == "user"
        and segment.kind is SegmentKind.MESSAGE
        and segment.protected != INJECTED
    ]
    prompts = [segment.turn_id for segment in messages if not _is_follow_up(segment)] or [
        segment.turn_id for segment in messages
    ]
    if not prompts:
        return segments
    first = next(at for at, segment in enumerate(segments) if segment.turn_id == prompts[-1])
    return [
        segment._replace(protected=NEWEST)
        if at >= first
        and segment.kind is SegmentKind.MESSAGE
        and segment.protected not in (NOT_RECORDED, INJECTED)
        else segment
        for at, segment in enumerate(segments)
    ]
