"""Suggests the trims that help most when the context fills up, each with the size of the context
after it.

The sizes are the same as those of a dry run of the command (`core/views/trim_outcome.py`).
"""

from collections.abc import Iterator
from itertools import accumulate, takewhile
from typing import Final

import msgspec
from trimpoint_protocol.commands import CompactContext, TrimContext
from trimpoint_protocol.methods import ContextAdvice, TrimAdvice, TrimCost

from trimpoint.core.context.active_context import plan_trim, turn_items
from trimpoint.core.context.context_size import (
    overhead_tokens,
    percent_text,
    share_text,
    used_percent,
)
from trimpoint.core.context.cost import cache_of, trim_cost
from trimpoint.core.context.summary_items import summary_item
from trimpoint.core.decide.autopilot import next_act
from trimpoint.core.decide.discarding import CompressionPlan, plan_compression
from trimpoint.core.decide.trimming import compact, trim
from trimpoint.core.model.decision import Accepted, Policy, Stamp, in_force
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_tokens, estimate_total
from trimpoint.core.views.meter import context_status

COMFORTABLE: Final = 0.35
"""A suggested `/clear` keeps as many turns as fit into this share of the window."""
WORTH_IT: Final = 0.05
"""A trim that frees less than this share of the window is not suggested."""

_NOBODY = Stamp(0, "")


def trim_advice(state: ThreadState, policy: Policy, now_ms: int) -> ContextAdvice:
    """Returns the suggested trims: first those with a known outcome, the most effective first, then
    a compaction, each with what it costs at the time `now_ms`. Below the warning level there are
    none.
    """
    status = context_status(state, policy)
    used, window = status.used_tokens, status.window_tokens
    if status.level not in ("warning", "critical") or window is None:
        return ContextAdvice(thread_id=state.id, level=status.level, advice=[])
    last, cache = state.usage.last_call, cache_of(state.settings, policy)
    known = [
        _advice(command, used, after, window, trim_cost(used, after, last, cache, now_ms))
        for command, after in (
            *_clear(state, window),
            *_compress(state, policy, used),
            *_auto(state, policy, used, now_ms),
        )
        if used - after >= WORTH_IT * window
    ]
    known.sort(key=lambda one: -(one.frees_tokens or 0))
    advice = [*known, *_compact(state, policy)]
    return ContextAdvice(thread_id=state.id, level=status.level, advice=advice)


def _clear(state: ThreadState, window: int) -> Iterator[tuple[str, int]]:
    overhead = overhead_tokens(state)
    newest_first = reversed(state.active_turns)
    summaries = {  # each stands while the last turn is kept that it stands for
        [*one.positions][-1]: estimate_tokens(summary_item(one.summary, one.summarized_messages))
        for one in state.discards
        if one.summary is not None
    }
    weights = (
        estimate_total(turn_items(state, turn)) + summaries.get(turn.id, 0) for turn in newest_first
    )
    fitting = takewhile(
        lambda kept: (
            kept[0] < state.active_turn_count and (kept[0] <= 1 or kept[1] <= COMFORTABLE * window)
        ),
        enumerate(accumulate(weights, initial=overhead)),
    )
    keep, after = max(fitting, default=(0, overhead))
    command = TrimContext(command_id="", thread_id=state.id, keep_last_n_turns=keep)
    if isinstance(trim(state, command, _NOBODY), Accepted):
        yield f"/clear {keep}", after


def _compress(state: ThreadState, policy: Policy, used: int) -> Iterator[tuple[str, int]]:
    plan = plan_compression(state, None, policy.discard)
    if isinstance(plan, CompressionPlan) and plan.freed_tokens:
        yield "/compress", used - plan.freed_tokens


def _auto(state: ThreadState, policy: Policy, used: int, now_ms: int) -> Iterator[tuple[str, int]]:
    """Yields the automatic masks, where they are not chosen and would be made now."""
    rules = in_force(state, policy)
    if rules.auto in ("off", "warn"):
        act = next_act(state, msgspec.structs.replace(rules, auto="mask"), now_ms)
        if act.masks:
            yield "/auto mask", used - act.masking.freed_tokens


def _compact(state: ThreadState, policy: Policy) -> Iterator[TrimAdvice]:
    keep = max(0, min(policy.preserve_recent_turns, state.active_turn_count - 1))
    command = CompactContext(command_id="", thread_id=state.id, keep_last_n_turns=keep)
    plan = plan_trim(state, keep)
    if plan is not None and isinstance(compact(state, command, _NOBODY, policy), Accepted):
        typed = f"/compact --keep {keep}"
        effect = "puts a summary in place of all but the last turns."
        yield TrimAdvice(
            command=typed,
            frees_tokens=None,
            after_tokens=None,
            percent=None,
            text=f"{typed} {effect}",
            effect=effect,
        )


def _advice(command: str, used: int, after: int, window: int, cost: TrimCost | None) -> TrimAdvice:
    percent = used_percent(after, window)
    effect = f"frees {share_text(used - after, window)} of the window: to {percent_text(percent)}."
    effect = f"{effect} {cost.said}" if cost else effect
    return TrimAdvice(
        command=command,
        frees_tokens=used - after,
        after_tokens=after,
        percent=percent,
        text=f"{command} {effect}",
        effect=effect,
    )
