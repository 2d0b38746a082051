"""Turns a conversation of Codex into facts for a new ledger (docs/spec/clients.md, "adopted").

Codex provides the turns that it knows. A fork of a thread of ours also has earlier generations,
which Codex does not know.
"""

from collections.abc import Container, Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.history.rollout import (
    NO_ITEMS,
    TurnItems,
    injected_before_turns,
    items_by_turn,
)
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.codex.notifications.translate import ending_of, entry_of
from trimpoint.core.context.active_context import pruned_by
from trimpoint.core.context.carried_turns import carried_entry, carried_turn
from trimpoint.core.context.pins import pin_items
from trimpoint.core.context.provider_compactions import ASKED_FOR, COMPACTION
from trimpoint.core.decide.masking import with_masks
from trimpoint.core.evolve.revert_folds import discards_left, injected_at, points_at
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Generation, ThreadState


class OpenedThread(NamedTuple):
    """Codex's answer to a request that opens a thread: its `members` and those of the `thread`,
    without the thread's `turns`, each of which is JSON.
    """

    members: dict[str, Any]
    thread: dict[str, Any]
    turns: list[Raw]

    @property
    def id(self) -> str:
        """Returns Codex's id of the thread."""
        return str(self.thread["id"])


def opened_thread(answer: Raw) -> OpenedThread:
    """Reads an answer of Codex, which may have many turns: call it in a thread."""
    members = msgspec.json.decode(answer, type=dict[str, Raw])
    thread = msgspec.json.decode(members.pop("thread"), type=dict[str, Raw])
    turns = thread.pop("turns", Raw(b"null"))
    return OpenedThread(
        {name: msgspec.json.decode(member) for name, member in members.items()},
        {name: msgspec.json.decode(member) for name, member in thread.items()},
        msgspec.json.decode(turns, type=list[Raw] | None) or [],
    )


def imported_turns(opened: OpenedThread, parent: ThreadState | None = None) -> list[ev.AnyEvent]:
    """Returns the facts about the turns (Codex's display form, oldest first), with the raw items of
    the thread's rollout. It takes long: call it in a thread.

    A turn of `parent` that was repeated after an overflow is taken from the parent, because Codex
    knows only a part of it.
    """
    path = opened.thread.get("path")
    lines = conversation_lines(str(path)) if path else []
    items = items_by_turn(lines)
    facts: list[ev.AnyEvent] = []
    before: str | None = None
    if parent is None and (injected := injected_before_turns(lines)):
        facts.append(ev.ItemsInjected(tuple(injected)))
    turns: list[dict[str, Any]] = [msgspec.json.decode(turn) for turn in opened.turns]
    turn_ids = {str(turn["id"]) for turn in turns}
    for turn in turns:
        turn_id = str(turn["id"])
        if is_reviewers(turn, turn_ids):
            continue
        if parent is not None and parent.turn_aliases.get(turn_id) in parent.turn_index:
            facts.extend(_retried_turn(parent, turn_id))
        elif before is not None and only_compacts(turn):
            facts.extend(compaction_facts(turn, before, items.get(turn_id, NO_ITEMS)))
            continue
        else:
            adopted = _adopted_turn(turn, items.get(turn_id, NO_ITEMS))
            facts.extend(adopted if parent is None else _with_parts(adopted, parent))
        before = turn_id
    return facts


async def started_with(thread: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of `thread/start` that only the thread's rollout has: instructions in
    place of the model's own, and dynamic tools.

    Developer instructions are missing: Codex keeps only the message that it made of them and of
    others.
    """
    path = thread.get("path")
    lines = await anyio.to_thread.run_sync(conversation_lines, str(path)) if path else []
    meta = next((meta for line in lines if (meta := _session_meta(line))), dict[str, Any]())
    instructions = as_dict(meta.get("base_instructions"))
    is_custom = as_dict(instructions.get("provenance")).get("type") == "custom"
    kept = {
        "baseInstructions": instructions.get("text") if is_custom else None,
        "dynamicTools": as_list(meta.get("dynamic_tools")) or None,
    }
    return {name: value for name, value in kept.items() if value is not None}


def _session_meta(line: bytes) -> dict[str, Any]:
    if b'"session_meta"' not in line:
        return {}
    try:
        record = as_dict(msgspec.json.decode(line))
    except msgspec.DecodeError:
        return {}
    return as_dict(record.get("payload")) if record.get("type") == "session_meta" else {}


def is_reviewers(turn: dict[str, Any], turn_ids: Container[str]) -> bool:
    """Returns whether a turn is the reviewer's part of a review whose own turn is in `turn_ids`."""
    root_id = turn.get("rootTurnId")
    return root_id is not None and root_id != turn["id"] and str(root_id) in turn_ids


def only_compacts(turn: dict[str, Any]) -> bool:
    """Returns whether a turn of Codex is a compaction that a person asked for, and has ended."""
    kinds = {as_dict(item).get("type") for item in as_list(turn.get("items"))}
    return kinds == {COMPACTION} and turn.get("status") == "completed"


def compaction_facts(
    turn: dict[str, Any], before: str, items: TurnItems = NO_ITEMS
) -> Iterator[ev.AnyEvent]:
    """Yields the facts about a turn that only compacts: an entry of the turn `before` it, with
    Codex's id of the compaction's turn, and what was injected behind it.
    """
    turn_id = str(turn["id"])
    detail = msgspec.json.encode({"type": COMPACTION, "id": turn_id})
    yield ev.EntryRecorded(before, turn_id, "activity", COMPACTION, ASKED_FOR, detail)
    if items.injected:
        yield ev.ContextItemsRecorded(before, tuple(items.injected), injected=len(items.injected))


def _retried_turn(parent: ThreadState, provider_turn_id: str) -> Iterator[ev.AnyEvent]:
    turn = parent.turns[parent.turn_index[parent.turn_aliases[provider_turn_id]]]
    started, *rest = carried_turn(parent, turn, turn.items, turn.injected)
    yield from (started, ev.TurnRetried(turn.id, provider_turn_id, 1), *rest)


def _adopted_turn(turn: dict[str, Any], items: TurnItems) -> Iterator[ev.AnyEvent]:
    """Yields the facts about a turn. A running turn stays open, because Codex will report its
    end.
    """
    is_running = turn.get("status") == "inProgress"
    for fact in turn_facts(turn, 1, items):
        if not (is_running and isinstance(fact, ev.TurnCompleted)):
            yield fact


def _with_parts(facts: Iterable[ev.AnyEvent], parent: ThreadState) -> Iterator[ev.AnyEvent]:
    """Yields the facts about a turn that `parent` has too, with the part of an answer that the
    parent has of it and Codex does not.
    """
    for fact in facts:
        if isinstance(fact, ev.TurnCompleted) and fact.turn_id in parent.turn_index:
            turn = parent.turns[parent.turn_index[fact.turn_id]]
            yield from (carried_entry(one) for one in parent.entries_of(turn) if one.is_part)
        yield fact


def turn_facts(turn: dict[str, Any], generation: int, items: TurnItems) -> Iterator[ev.AnyEvent]:
    """Yields all facts about a turn in Codex's display form. `items` are its raw items, or
    `NO_ITEMS` if they are not known.
    """
    turn_id = str(turn["id"])
    yield ev.TurnStarted(turn_id, generation)
    for item in as_list(turn.get("items")):
        yield entry_of(turn_id, as_dict(item), msgspec.json.encode(item))
    if items != NO_ITEMS:
        yield ev.ContextItemsRecorded(
            turn_id, (*items.own, *items.injected), "rollout", len(items.injected)
        )
    runs = turn.get("status") == "inProgress"
    ending = ending_of({**turn, "status": "interrupted"} if runs else turn)
    yield ev.TurnCompleted(turn_id, ending.status, ending.error, False, ending.error_kind)


def as_it_is(state: ThreadState) -> ThreadState:
    """Returns the thread's present state. What is recorded later does not change it, so a fork that
    Codex is asked for now can be recorded from it when Codex has answered.
    """
    return _with_turns(state, len(state.turns))


def as_it_was(
    state: ThreadState, kept: int, pins: tuple[str, ...], *, now: bool = False
) -> ThreadState:
    """Returns the thread's state after its first `kept` turns, with all of them marked as not held
    by a provider thread. What is recorded later does not change it.

    `pins` are those that the context of that moment is given. With `now`, trim points after the
    last of these turns are included.
    """
    past = _with_turns(state, kept)
    last = state.generation.number if now else state.turns[kept - 1].generation if kept else 0
    if not now:
        past.trim_points = points_at(past.trim_points, past.turns)
        past.injected_before_next = injected_at(state, kept)
    past.discards = discards_left(past, last)
    past.generations.append(Generation(state.generation.number + 1, "fork", "turns", pins=pins))
    return past


def _with_turns(state: ThreadState, kept: int) -> ThreadState:
    """Returns a copy of the state with its first `kept` turns, of all that a fork may inherit."""
    part = copy(state)
    part.turns = [*map(msgspec.structs.replace, state.turns[:kept])]
    part.turn_index = {turn.id: index for index, turn in enumerate(part.turns)}
    part.entries = state.entries[: state.entries_end(kept - 1)] if kept else []
    part.turn_aliases = dict(state.turn_aliases)
    part.trim_points = [copy(point) for point in state.trim_points]
    part.discards, part.generations = list(state.discards), list(state.generations)
    return part


def inherited_history(parent: ThreadState, fork_id: str) -> tuple[ev.AnyEvent, ...]:
    """Returns the facts that a fork inherits from its parent and that Codex does not know: turns
    before the parent's present provider thread, and the trim points.

    They come before the turns that Codex reports of the fork. Items are included only for turns
    that are in the context. The turns that the parent itself inherited are included.
    """
    generation = parent.generation
    given = set(generation.turn_ids)
    earlier = [
        turn for turn in parent.turns if turn.generation < generation.number or turn.id in given
    ]
    turns = tuple(
        fact
        for index, turn in enumerate(earlier)
        for fact in (
            *_discards(parent, index, fork_id),
            *carried_turn(parent, turn, turn.items, turn.injected),
        )
    )
    later = tuple(
        fact
        for index in range(len(earlier), len(parent.turns) + 1)
        for fact in _discards(parent, index, fork_id)
    )
    return (*turns, *later, *_inherited_trim_points(parent, earlier, fork_id))


def with_injected(
    facts: Iterable[ev.AnyEvent], parent: ThreadState, params: dict[str, Any]
) -> Iterator[ev.AnyEvent]:
    """Yields the facts of a fork of `parent`, made with these parameters, with what was injected
    before its turns, and before the next one, in their places.

    A fork has no pins. What its context holds of the parent's is recorded as injected before the
    first turn of the context.
    """
    pinned = pin_items(parent, parent.generation.pins)
    # Codex reports turns that a fork of its own has been given, too.
    left = dict(parent.turn_index)
    for fact in facts:
        if isinstance(fact, ev.TurnStarted) and fact.turn_id in left:
            at = left.pop(fact.turn_id)
            before = parent.turns[at].injected_before
            if pinned and at >= parent.active_from_turn:
                before, pinned = _with_pinned(parent, at, before, pinned), []
            yield from _injected(before)
        yield fact
    behind = _injected_behind_fork(parent, params)
    yield from _injected(_with_pinned(parent, len(parent.turns), behind, pinned))


def _with_pinned(
    parent: ThreadState, at: int, injected: list[bytes], pinned: list[bytes]
) -> list[bytes]:
    """Returns the items injected before the turn at position `at`, with `pinned` before those of
    them that are in the context.
    """
    point = parent.trim_points[-1] if parent.trim_points else None
    pruned = point.pruned_injected if point is not None and point.turn_index == at else 0
    return [*injected[:pruned], *pinned, *injected[pruned:]]


def _injected(items: Iterable[bytes]) -> Iterator[ev.AnyEvent]:
    if found := tuple(items):
        yield ev.ItemsInjected(found)


def _injected_behind_fork(parent: ThreadState, params: dict[str, Any]) -> list[bytes]:
    if params.get("lastTurnId") is not None:
        return []
    if (before := params.get("beforeTurnId")) is None:
        return parent.injected_before_next
    at = parent.turn_index.get(parent.turn_aliases.get(str(before), str(before)))
    return [] if at is None else parent.turns[at].injected_before


def _discards(parent: ThreadState, turn_index: int, fork_id: str) -> Iterator[ev.AnyEvent]:
    """Yields the parent's discards at a turn that the fork has."""
    for one in parent.discards:
        if one.turn_index == turn_index:
            items = tuple(one.positions.items())
            discarded = ev.ContextDiscarded(
                fork_id,
                one.id,
                one.created_at_ms,
                one.entry_ids,
                items,
                1,
                one.trigger,
                one.est_tokens,
            )
            masks = tuple((turn_id, tuple(held.items())) for turn_id, held in one.masks.items())
            yield with_masks(discarded, one.masked_entry_ids, masks) if masks else discarded
            if one.summary is not None:
                messages = one.summarized_messages
                yield ev.StretchSummarized(fork_id, one.id, one.summary, messages, 0)


def _inherited_trim_points(
    parent: ThreadState, earlier: list[Turn], fork_id: str
) -> Iterator[ev.AnyEvent]:
    for point in parent.trim_points:
        # A boundary after all earlier turns lies before the turns that Codex reports of the fork.
        first_kept = earlier[point.turn_index].id if point.turn_index < len(earlier) else None
        yield ev.TrimPointCreated(
            fork_id,
            point.id,
            point.created_at_ms,
            point.before_entry_id,
            point.pruned_message_count,
            tuple(pruned_by(parent, point)),
            first_kept,
            1,
            point.trigger,
            point.summary_unavailable,
            pruned_injected=point.pruned_injected,
        )
        if point.summary is not None:
            yield ev.ContextSummarized(fork_id, point.id, point.summary, 0)
