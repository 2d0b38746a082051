"""The rules of the recovery from an overflow: which turn may be repeated, and which part of the
context is summarized to make room (docs/spec/context.md).

Only `core/context/split_point.py` decides where the context is cut, and the context does not change
before the turn continues in the smaller one. The prompt of the turn is in neither part: it is sent
again and is then the newest message.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.core.context.active_context import (
    current_summary,
    has_sealed_summary,
    placed_injectable,
    placed_items,
    prompt_span,
    trim_before,
    without_prompt,
)
from trimpoint.core.context.pins import carried_pins, pin_items
from trimpoint.core.context.provider_compactions import COMPACTED, COMPACTION
from trimpoint.core.context.split_point import find_split, is_message
from trimpoint.core.context.summary_items import (
    standing_summaries,
    summary_item,
    with_summary,
)
from trimpoint.core.decide.trimming import open_trimmed_generation
from trimpoint.core.evolve.retry_folds import later_prompts
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Policy,
    Rejected,
    Stamp,
    operation_under_way,
    when_idle,
)
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.reviews import ENTERED
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_tokens

EXCEEDED = ev.CONTEXT_WINDOW_EXCEEDED


class OverflowPlan(NamedTuple):
    """Where the context is cut: the raw items `before` are summarized, the raw items `after` are
    kept. `before` has `messages` messages and about `before_tokens` tokens.

    `first_kept_turn_id` is the first turn of which items are kept; its first `skipped_items` items
    are in `before`, and so are the first `pruned_injected` items that were injected before it.
    """

    before: list[bytes]
    after: list[bytes]
    messages: int
    before_tokens: int
    first_kept_turn_id: str
    skipped_items: int
    pruned_injected: int


class ProviderCompaction(NamedTuple):
    """The raw items that replaced the context when Codex compacted it by itself, and for each turn
    the number of items that it has added `since`.
    """

    items: list[bytes]
    since: dict[str, int]


class _Placed(NamedTuple):
    """A raw item and its position in its turn. A negative position counts from the end of the items
    that were injected before the turn.
    """

    turn_id: str | None
    position: int
    item: bytes


def recover_from_overflow(
    state: ThreadState, command: internal.RecoverFromOverflow, stamp: Stamp, policy: Policy
) -> Decision:
    """Starts the recovery from an overflow, or rejects it with the reason why the turn stays
    failed.
    """
    if not policy.overflow_recovery:
        return Rejected(Reason.NOT_SUPPORTED, "Recovery from an overflow is switched off.")
    if (refusal := when_idle(state, "recover")) is not None:
        return refusal
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.id != command.turn_id or turn.error_kind != EXCEEDED:
        return Rejected(
            Reason.NOT_SUPPORTED, "The thread's last turn did not fail because of an overflow."
        )
    if turn.provider_turn_id is not None:
        return Rejected(Reason.NOT_SUPPORTED, "The turn was tried again once already.")
    if not _has_prompt(state, turn) or has_sealed_summary(state):
        return Rejected(
            Reason.NOT_SUPPORTED,
            "The turn has no prompt to send again, or only Codex can read what came before it.",
        )
    requested = ev.OverflowRecoveryRequested(stamp.id, turn.id)
    return Accepted((ev.OperationStarted(stamp.id, "overflow"), requested), stamp.id)


def _has_prompt(state: ThreadState, turn: Turn) -> bool:
    roles = {entry.role for entry in state.entries_of(turn)}
    return (
        "user" in roles and ENTERED not in roles
    )  # a review has no prompt that could be sent again


def prompt_of(state: ThreadState, turn_id: str) -> list[Any]:
    """Returns the prompt of a turn in the form that `turn/start` accepts, as far as the ledger has
    it.
    """
    turn = state.turns[state.turn_index[turn_id]]
    entry = next(entry for entry in state.entries_of(turn) if entry.role == "user")
    if entry.detail:
        content: list[Any] = msgspec.json.decode(entry.detail)["content"]
        return content
    return [{"type": "text", "text": entry.text}]


def plan_overflow(
    state: ThreadState, turn_id: str, compaction: ProviderCompaction | None = None
) -> OverflowPlan | None:
    """Returns where to cut the active context so that the turn may fit, or None if there is no
    valid cut.

    `compaction` is required if Codex has compacted the context by itself (`compacted_by_codex`).
    """
    placed = _placed(state, turn_id, compaction)
    items = [one.item for one in placed]
    tokens = [estimate_tokens(item) for item in items]
    # Items that Codex wrote belong to no turn and cannot be kept; pinned items are added again.
    least = len(_opening(state, compaction)) if state.pins or compaction is not None else 0
    cut = find_split(items, tokens, min_items=least)
    if cut is not None:
        cut = _outside_stretches(state, placed, _before_pinned(state, placed, cut, turn_id))
    if cut is None or cut < max(least, 1):
        return None
    kept = placed[cut] if cut < len(placed) else _Placed(turn_id, len(_work(state, turn_id)), b"")
    messages = sum(is_message(msgspec.json.decode(item)) for item in items[:cut])
    first = state.turn_index[str(kept.turn_id)]
    turn_ids = [turn.id for turn in state.turns[first:]]
    pins = pin_items(state, [pin.id for pin in carried_pins(state, turn_ids)])
    return OverflowPlan(
        items[:cut],
        [*pins, *items[cut:]],
        messages,
        sum(tokens[:cut]),
        str(kept.turn_id),
        max(0, kept.position),
        len(state.turns[first].injected_before) + min(0, kept.position),
    )


def _before_pinned(state: ThreadState, placed: Sequence[_Placed], cut: int, turn_id: str) -> int:
    """Returns the cut; if it would divide a pinned turn, it is moved to before that turn."""
    divided = placed[cut].turn_id if cut < len(placed) else None
    if divided == turn_id or divided not in {pin.turn_id for pin in state.pins if pin.turn_id}:
        return cut
    return next(at for at, one in enumerate(placed) if one.turn_id == divided)


def _outside_stretches(state: ThreadState, placed: Sequence[_Placed], cut: int) -> int:
    """Returns the cut; if it would divide a summary from a pinned turn among those that it stands
    for, it is moved to before the summary, which would stand behind the cut otherwise.
    """
    if cut == len(placed) or placed[cut].turn_id is None:
        return cut
    at = state.turn_index[str(placed[cut].turn_id)]
    for discard in (one for one in state.discards if one.summary is not None):
        places = [state.turn_index[turn_id] for turn_id in discard.positions]
        standing = [place for place in places if place >= state.active_from_turn]
        if standing and standing[0] < at <= standing[-1]:
            host = state.turns[standing[0]].id
            return next(number for number, one in enumerate(placed) if one.turn_id == host)
    return cut


def compacted_by_codex(state: ThreadState) -> bool:
    """Returns whether Codex has compacted the present context by itself. It reads no turn but those
    in which that happened.
    """
    number, first = state.generation.number, state.active_from_turn
    places = [
        state.turn_index.get(one, -1) for one in (*state.compacted_in, *state.compacted_behind)
    ]
    if any(at >= first and state.turns[at].generation == number for at in places):
        return True
    # One behind a turn that the generation was given is in the generation too.
    last = state.turns[-1] if state.active_turn_count else None
    return last is not None and state.compacted_behind.get(last.id) == number


def _placed(
    state: ThreadState, turn_id: str, compaction: ProviderCompaction | None
) -> list[_Placed]:
    """Returns the raw items of the active context with their turns and positions, oldest first. The
    items before the first turn, such as a summary, have no turn.
    """
    placed = [_Placed(None, 0, item) for item in _opening(state, compaction)]
    skipped = state.generation.skipped_items
    summaries = standing_summaries(state.discards, state.active_turns)
    for turn in state.active_turns:
        fails = turn.id == turn_id
        of_turn = _placed_work(state, turn) if fails else placed_items(state, turn)
        of_turn = with_summary(of_turn, summaries.get(turn.id))
        first = (
            skipped if compaction is None else _first_since(state, turn, compaction, fails=fails)
        )
        if compaction is None:
            injected = turn.injected_before
            placed.extend(
                _Placed(turn.id, at - len(injected), item) for at, item in enumerate(injected)
            )
        placed.extend(_Placed(turn.id, at, item) for at, item in of_turn if at >= first)
        skipped = 0
    return placed


def _opening(state: ThreadState, compaction: ProviderCompaction | None) -> list[bytes]:
    if compaction is not None:
        return compaction.items
    summary = current_summary(state)
    summary_items = [] if summary is None else [summary_item(summary.text, summary.messages)]
    return [*summary_items, *pin_items(state, state.generation.pins)]


def _first_since(
    state: ThreadState, turn: Turn, compaction: ProviderCompaction, *, fails: bool
) -> int:
    """Returns the position of the turn's first item after the compaction. For the failing turn, the
    prompt is not counted.
    """
    first = max(0, len(turn.items) - compaction.since.get(turn.id, 0))
    if not fails:
        return first
    start, end = prompt_span(turn.items, later_prompts(state, turn.id))
    return first - max(0, min(end, first) - start)


def _work(state: ThreadState, turn_id: str) -> list[bytes]:
    """Returns the items that the turn had added before it failed, without its prompt."""
    turn = state.turns[state.turn_index[turn_id]]
    return without_prompt(turn.items, later_prompts(state, turn_id))


def _placed_work(state: ThreadState, turn: Turn) -> list[tuple[int, bytes]]:
    return placed_injectable(_work(state, turn.id)) if turn.items else placed_items(state, turn)[1:]


def complete_recovery(
    state: ThreadState, command: internal.CompleteRecovery, stamp: Stamp
) -> Decision:
    """Completes the recovery: one record has the trim point, the next generation and the repeated
    turn in it.
    """
    operation = operation_under_way(state, command.operation_id)
    turn_id = operation.failed_turn_id if operation is not None else None
    if (
        operation is None
        or turn_id is None
        or operation.phase is not Phase.RETRYING
        or state.turns[-1].id != turn_id
    ):
        return Rejected(Reason.INTERNAL, "The recovery is no longer under way.")
    plan = trim_before(state, state.turn_index[command.first_kept_turn_id])
    plan = plan._replace(pruned_injected=command.pruned_injected)
    events = open_trimmed_generation(
        state, plan, stamp, "overflow", "overflow", command.summary, command.compact_duration_ms
    )
    opened = next(event for event in events if isinstance(event, ev.GenerationOpened))
    number, kept = opened.generation, _kept_ids(state, opened, turn_id, command)
    in_place = (
        msgspec.structs.replace(
            opened,
            turn_ids=kept,
            summarized_messages=command.summarized_messages,
            skipped_items=command.skipped_items,
        ),
        ev.SessionStopRequested(number - 1),
        ev.ProviderThreadBound(
            number, command.provider_thread_id, command.rollout_path, raw_events=True
        ),
        ev.SessionReady(number),
        ev.TurnRetried(turn_id, command.provider_turn_id, number),
        ev.EntryRecorded(
            turn_id, operation.id, "activity", COMPACTION, COMPACTED, _compaction_item(operation.id)
        ),
        ev.OperationAdvanced(operation.id, Phase.READY, command.message),
    )
    return Accepted((*events[: events.index(opened)], *in_place), operation.id)


def _compaction_item(item_id: str) -> bytes:
    return msgspec.json.encode({"type": COMPACTION, "id": item_id})


def _kept_ids(
    state: ThreadState,
    opened: ev.GenerationOpened,
    turn_id: str,
    command: internal.CompleteRecovery,
) -> tuple[str, ...]:
    """Returns the ids of the kept turns. The failed turn is left out if none of its items are kept:
    then it only runs in the new generation.
    """
    done = len(_work(state, turn_id))
    kept_of_it = done - command.skipped_items if command.first_kept_turn_id == turn_id else done
    return opened.turn_ids if kept_of_it > 0 else opened.turn_ids[:-1]
