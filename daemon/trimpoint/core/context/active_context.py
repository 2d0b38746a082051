"""Derives the active context: which turns a trim keeps, and the raw items that a new session is
given (docs/spec/sessions.md).

A turn is kept as a whole or pruned as a whole. A raw item is Codex's JSON as the model saw it.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.provider_compactions import COMPACTION, newest_own_compaction
from trimpoint.core.context.removals import discarded_positions, masked_item, masks_of
from trimpoint.core.context.summary_items import (
    standing_summaries,
    summary_item,
    with_summary,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Discard, Entry, TrimPoint, Turn
from trimpoint.core.model.state import ThreadState

# Blocks that Codex writes into a conversation by itself, as user-role messages, in versions that do
# not label their content.
PREAMBLE_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
)
# Begins the message that Codex adds, in the user's role, when a turn was interrupted.
INTERRUPTION = "<turn_aborted>"
# The types and roles of items that can be preamble.
PREAMBLE_KINDS = ("additional_tools", "configuration_update")
PREAMBLE_ROLES = ("developer", "system", "user")
# Content labels (measured: codex 0.163 and 0.171) of content that the user wrote, not Codex.
USER_CONTENT_KIND_PREFIX = "user."
SEALED_SUMMARY_LOST = (
    "Codex no longer has the conversation, and with it its sealed summary is gone."
)


class TrimPlan(NamedTuple):
    """A planned trim: it keeps the turns `kept` and prunes the `pruned_turn_count` active turns
    before them.

    `pruned_message_count` counts the prompts and answers of the pruned turns, without those that
    were discarded before. `before_entry_id` is the last entry before the boundary, or None.
    `pruned_injected` counts the items before the boundary that were injected before the first kept
    turn, or before the next turn if none is kept.
    """

    pruned_turn_count: int
    last_pruned_turn_id: str | None
    kept: list[Turn]
    before_entry_id: str | None
    pruned_message_count: int
    pruned_injected: int


def plan_trim(state: ThreadState, keep_last_n_turns: int) -> TrimPlan | None:
    """Returns the trim that keeps the last N turns of the active context, or None if it would prune
    nothing.

    A trim that keeps no turns also removes a summary at the start of the context and the items
    injected since the last turn, so `/clear` directly after `/compact` is possible.
    """
    cut = max(0, state.active_turn_count - keep_last_n_turns)
    clears = begins_with_summary(state) or bool(state.active_injected)
    if cut == 0 and not (keep_last_n_turns == 0 and clears):
        return None
    plan = trim_before(state, state.active_from_turn + cut)
    return None if _prunes_nothing(state, plan) else plan


def _prunes_nothing(state: ThreadState, plan: TrimPlan) -> bool:
    """Returns whether the model is shown nothing of what the trim prunes, as when another program
    had Codex compact the context in a turn of its own, and all before it was trimmed.
    """
    if plan.pruned_message_count or plan.pruned_injected or begins_with_summary(state):
        return False
    if newest_own_compaction(state) is not None:
        return False
    first = state.active_from_turn
    return all(
        not turn.items
        and not turn.injected_apart
        and not turn.injected_before
        and {entry.role for entry in state.entries_of(turn)} == {COMPACTION}
        for turn in state.turns[first : first + plan.pruned_turn_count]
    )


def trim_before(state: ThreadState, first_kept: int) -> TrimPlan:
    """Returns the trim whose boundary is before the turn at position `first_kept`.

    The time that this takes depends on the number of kept turns only, not on the number of pruned
    ones.
    """
    kept = list(state.turns[first_kept:])
    injected = kept[0].injected_before if kept else state.injected_before_next
    boundary = kept[0].first_entry_index if kept else len(state.entries)
    before = state.entries[boundary - 1].id if boundary else None
    count = first_kept - state.active_from_turn
    messages = active_turn_messages(state) - message_count(state, kept)
    if injected and kept:
        kept[0] = msgspec.structs.replace(kept[0], injected_before=[])
    last_pruned = state.turns[first_kept - 1].id if count else None
    return TrimPlan(count, last_pruned, kept, before, messages, len(injected))


def active_turn_messages(state: ThreadState) -> int:
    """Returns the number of messages of the active turns that were not discarded, without reading
    each turn.
    """
    return state.active_messages - sum(_active_messages(state, one) for one in state.discards)


def _active_messages(state: ThreadState, discard: Discard) -> int:
    """Returns the number of messages of active turns that a discard removed."""
    trimmed_in = state.trim_points[-1].generation if state.trim_points else 0
    if discard.generation > trimmed_in:  # the turns that were active then are active now
        return sum(discard.messages.values())
    places, active_from = state.turn_index, state.active_from_turn
    counts = discard.messages.items()
    return sum(gone for turn_id, gone in counts if places.get(turn_id, -1) >= active_from)


def pruned_turn_ids(state: ThreadState, event: ev.TrimPointCreated) -> list[str] | None:
    """Returns the ids of the turns that a trim point pruned, oldest first, or None if the thread no
    longer has them.

    The thread no longer has them after a revert to before these turns which can no longer be
    undone.
    """
    if event.pruned_turn_ids or not event.pruned_turn_count:
        return list(event.pruned_turn_ids)
    last, count = str(event.last_pruned_turn_id), event.pruned_turn_count
    if (at := state.turn_index.get(last)) is not None:
        return [turn.id for turn in state.turns[at + 1 - count : at + 1]]
    past = state.undo_state
    if past is None or all(turn.id != last for turn in past.turns):
        return None
    turn_ids = [turn.id for turn in (*state.turns[: past.kept_turns], *past.turns)]
    end = turn_ids.index(last) + 1
    return turn_ids[end - count : end]


def pruned_by(state: ThreadState, point: TrimPoint) -> list[str]:
    """Returns the ids of the turns that a trim point of the thread pruned, oldest first."""
    if point.pruned_turn_ids:
        return list(point.pruned_turn_ids)
    first = point.turn_index - point.pruned_turn_count
    return [turn.id for turn in state.turns[first : point.turn_index]]


def message_count(state: ThreadState, turns: Sequence[Turn]) -> int:
    """Returns the number of messages of `turns` that were not discarded."""
    count: int = sum(map(attrgetter("message_count"), turns))
    if not state.discards:
        return count
    counted = set(map(attrgetter("id"), turns))
    return count - sum(
        sum(one.messages[turn_id] for turn_id in one.messages.keys() & counted)
        for one in state.discards
    )


def active_message_count(state: ThreadState) -> int:
    """Returns the number of messages in the active context; a summary counts as one."""
    summaries = [one for one in state.discards if one.summary is not None]
    in_the_middle = standing_summaries(summaries, state.active_turns) if summaries else ()
    return active_turn_messages(state) + int(begins_with_summary(state)) + len(in_the_middle)


def has_sealed_summary(state: ThreadState) -> bool:
    """Returns whether the active context begins with a sealed summary."""
    in_provider = state.generation.bootstrap == "provider"
    return in_provider and bool(state.trim_points) and state.trim_points[-1].summary_unavailable


def begins_with_summary(state: ThreadState) -> bool:
    """Returns whether the active context begins with a summary, sealed or not."""
    return current_summary(state) is not None or has_sealed_summary(state)


class Summary(NamedTuple):
    """The text of a summary, and the number of messages that it replaces."""

    text: str
    messages: int


def current_summary(state: ThreadState) -> Summary | None:
    """Returns the readable summary that the active context begins with, or None. A fork has the
    summary of the thread that it was forked from.
    """
    generation = state.generation
    if generation.summary is not None:
        return Summary(generation.summary, generation.summarized_messages)
    point = (
        state.trim_points[-1] if state.trim_points and generation.bootstrap == "provider" else None
    )
    if point is None or point.summary is None:
        return None
    return Summary(point.summary, point.pruned_message_count)


def context_items(
    state: ThreadState,
    summary: str | None,
    summarized_messages: int,
    turns: Iterable[Turn],
    skipped_items: int = 0,
    discards: Sequence[Discard] | None = None,
    pinned: Iterable[bytes] = (),
    injected: Iterable[bytes] = (),
) -> list[bytes]:
    """Returns the raw items of a context: first `summary`, if it is not None, then `pinned`, then
    `turns`, each after the items injected before it, then `injected`.

    The first `skipped_items` items of the first turn are left out, because the summary covers them.
    `discards` are the discards in force in this context; None means those of the state.
    """
    turns, standing = list(turns), state.discards if discards is None else discards
    summaries = standing_summaries(standing, turns)
    items = [summary_item(summary, summarized_messages)] if summary is not None else []
    items.extend(pinned)
    for turn in turns:
        items.extend(turn.injected_before)
        items.extend(
            item
            for position, item in with_summary(
                placed_items(state, turn, standing), summaries.get(turn.id)
            )
            if position >= skipped_items
        )
        skipped_items = 0
    return [*items, *injected]


def turn_items(state: ThreadState, turn: Turn) -> list[bytes]:
    """Returns a turn's raw items without discarded ones, masked ones with their placeholder. If
    none were recorded, they are rebuilt from the turn's messages.
    """
    return [item for _, item in placed_items(state, turn)]


def placed_items(
    state: ThreadState, turn: Turn, discards: Sequence[Discard] | None = None
) -> list[tuple[int, bytes]]:
    """Returns the same items as `turn_items`, each with its position in the turn; `discards` as in
    `context_items`.
    """
    standing = state.discards if discards is None else discards
    if turn.items:
        gone, masks = discarded_positions(turn.id, standing), masks_of(turn.id, standing)
        return [
            (at, masked_item(item, masks.get(at)))
            for at, item in placed_injectable(turn.items)
            if at not in gone
        ]
    taken = {entry_id for discard in standing for entry_id in discard.entries.get(turn.id, ())}
    messages = enumerate(one for one in state.entries_of(turn) if one.is_message_of_model)
    return [(at, message_item(entry)) for at, entry in messages if entry.id not in taken]


def without_prompt(items: list[bytes], later_prompts: Iterable[str]) -> list[bytes]:
    """Returns a turn's items without those of its prompt (`prompt_span`)."""
    start, end = prompt_span(items, later_prompts)
    return [*items[:start], *items[end:]]


def prompt_span(items: list[bytes], later_prompts: Iterable[str]) -> tuple[int, int]:
    """Returns the start and the end of the prompt's items among a turn's items. They are the first
    items of the turn, unless Codex began the turn with a compaction.

    `later_prompts` are the texts that were sent while the turn ran. They may directly follow the
    prompt, if the model had not answered yet, and do not belong to it.
    """
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    start = next((at for at, item in enumerate(decoded) if item.get("role") == "user"), len(items))
    said, end = set(later_prompts), start
    while (
        end < len(items)
        and decoded[end].get("role") == "user"
        and (end == start or message_text(decoded[end]) not in said)
    ):
        end += 1
    return start, end


def message_text(item: dict[str, Any]) -> str:
    """Returns the concatenated text of a message item."""
    return "".join(str(part.get("text", "")) for part in map(as_dict, as_list(item.get("content"))))


def message_item(entry: Entry) -> bytes:
    """Returns a raw item for a message of the ledger, for use if the item that the model saw was
    not recorded.
    """
    part = "input_text" if entry.role == "user" else "output_text"
    return msgspec.json.encode(
        {"type": "message", "role": entry.role, "content": [{"type": part, "text": entry.text}]}
    )


def injectable(items: list[bytes]) -> list[bytes]:
    """Returns `items` without tool results that have no call, which Codex never sends to a model.

    Codex sends all other items unchanged: reasoning with or without sealed content, and a call
    without a result, to which Codex adds the result `aborted` (measured: 0.133 to 0.171).
    """
    return [item for _, item in placed_injectable(items)]


def placed_injectable(items: list[bytes]) -> list[tuple[int, bytes]]:
    """Returns the items that `injectable` returns, each with its position in `items`."""
    return [
        (at, items[at])
        for at in injectable_positions([msgspec.json.decode(item) for item in items])
    ]


def injectable_positions(items: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the positions of the items that `injectable` returns; `items` are decoded."""
    calls = {call_id(item) for item in items if is_call(item)}
    return [
        position
        for position, item in enumerate(items)
        if not is_output(item) or call_id(item) in calls
    ]


def call_id(item: dict[str, Any]) -> str | None:
    """Returns the id that a tool call and its result share, or None."""
    shared = item.get("call_id")
    return shared if isinstance(shared, str) else None


def is_call(item: dict[str, Any]) -> bool:
    """Returns whether the item is a tool call whose result is a separate item."""
    return (
        str(item.get("type", "")).endswith("_call")
        and call_id(item) is not None
        and "output" not in item
    )


def is_output(item: dict[str, Any]) -> bool:
    """Returns whether the item is the result of a tool call."""
    return str(item.get("type", "")).endswith(("_call_output", "tool_search_output"))


def has_unanswered_call(items: Iterable[bytes]) -> bool:
    """Returns whether a tool call of `items` has no result among them."""
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    answered = {call_id(item) for item in decoded if is_output(item)}
    return any(is_call(item) and call_id(item) not in answered for item in decoded)


def is_reasoning(item: dict[str, Any]) -> bool:
    """Returns whether the item is reasoning."""
    return item.get("type") == "reasoning"


def is_preamble(item: dict[str, Any]) -> bool:
    """Returns whether the item is preamble (instructions, environment, tools), which a new provider
    thread writes itself.
    """
    if item.get("type") in PREAMBLE_KINDS:
        return True
    if item.get("type") != "message" or item.get("role") not in PREAMBLE_ROLES:
        return False
    return item.get("role") != "user" or _is_context_block(item)


def _is_context_block(item: dict[str, Any]) -> bool:
    labels = as_dict(item.get("internal_chat_message_metadata_passthrough"))
    if any(
        str(kind).startswith(USER_CONTENT_KIND_PREFIX)
        for kind in as_list(labels.get("content_item_kinds"))
    ):
        return False
    return _looks_written_by_codex(item)


def _looks_written_by_codex(item: dict[str, Any]) -> bool:
    match item.get("content"):
        case [{"text": str(text)}, *_]:
            return text.lstrip().startswith(PREAMBLE_PREFIXES)
        case _:
            return False
