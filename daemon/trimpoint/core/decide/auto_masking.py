"""The rules of automatic masking: when old output is masked without a request
(docs/spec/context.md).

It runs between turns, and with `mid_turn` between two steps of a turn. Masking makes the provider's
cache forget the context, so it is done in batches: where the cache is cold, it costs nothing; where
it is warm, only from the warning level on, and only if it pays off soon. A person who undoes it is
left alone until the context has grown by a tenth of the window.
"""

from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

import msgspec
from trimpoint_protocol.methods import TrimCost

from trimpoint.core.context.context_size import level_of, reported_size, window_of
from trimpoint.core.context.cost import cache_of, trim_cost
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.discarding import discard_refusal
from trimpoint.core.decide.masking import Mask, newest_from, proposed_masks, proposed_within
from trimpoint.core.model.decision import CachePolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import ModelCall, model_in

AUTO_MASK = "autoMask"
"""The trigger of an automatic mask."""
_LEAST_BYTES_OF_A_TOKEN = 2
_WITHIN_FROM = 0.25


class Wait(StrEnum):
    """Why nothing is masked yet: what was chosen does not mask; the size of the context was not
    measured; it is below `mask_at`; a person has undone a mask; Codex alone has the context; there
    is too little output; the cache is warm.
    """

    NOT_CHOSEN = "notChosen"
    NOT_MEASURED = "notMeasured"
    SMALL = "small"
    LEFT_ALONE = "leftAlone"
    NOT_KNOWN = "notKnown"
    LITTLE = "little"
    WARM = "warm"


class Fill(NamedTuple):
    """How full a context is while something is decided about it: its tokens, those of the window,
    the last model call that was given it, and what its cache costs.
    """

    used: int
    window: int
    last_call: ModelCall | None
    cache: CachePolicy

    def is_small(self, policy: Policy) -> bool:
        """Returns whether it is below `mask_at`."""
        return self.used < policy.mask_at * self.window


class Masking(NamedTuple):
    """The masks that would help, with what they free and cost; they are made as soon as there is no
    `wait`. There are none where the wait is longer than for a cold cache.
    """

    wait: Wait | None
    masks: tuple[Mask, ...] = ()
    freed_tokens: int = 0
    cost: TrimCost | None = None


def within_turns(policy: Policy) -> Policy:
    """Returns the rules for masks within a turn: from a quarter of the window on, because each call
    until the turn's end would be sent the output (`benchmarks/studies/policies.py`).
    """
    return msgspec.structs.replace(
        policy,
        mask_at=min(policy.mask_at, _WITHIN_FROM),
        warning_at=min(policy.warning_at, _WITHIN_FROM),
    )


def masking_wait(
    state: ThreadState, policy: Policy, now_ms: int, *, within: bool = False
) -> Wait | None:
    """Returns why nothing is to be masked, as far as that is known without decoding what the
    context holds: the output is taken for more tokens than it can have.

    :param now_ms: the time in milliseconds since the epoch.
    :param within: the newest turn goes on, and its output may be masked too.
    """
    policy = within_turns(policy) if within else policy
    if policy.auto not in ("mask", "compact"):
        return Wait.NOT_CHOSEN
    fill = _fill(state, policy)
    if fill is None:
        return Wait.NOT_MEASURED
    if fill.is_small(policy):
        return Wait.SMALL
    if _is_left_alone(state, fill):
        return Wait.LEFT_ALONE
    if discard_refusal(state) is not None:
        return Wait.NOT_KNOWN
    end = len(state.turns) if within else newest_from(len(state.turns), policy.discard)
    most = min(_most_tokens_of_output(state, end), fill.used)
    return wait_and_cost(fill, most, policy, now_ms)[0]


def masking(state: ThreadState, policy: Policy, now_ms: int, *, within: bool = False) -> Masking:
    """Returns what is to be masked as soon as the thread is idle, or why that waits. It reads the
    whole context, unless that can be seen to be in vain. For `within` see `masking_wait`.
    """
    wait, fill = masking_wait(state, policy, now_ms, within=within), _fill(state, policy)
    policy = within_turns(policy) if within else policy
    if wait not in (None, Wait.WARM) or fill is None:
        return Masking(wait)
    proposed = proposed_within if within else proposed_masks
    masks = tuple(proposed(state, context_segments(state), 0, policy.discard))
    freed = sum(mask.freed_tokens for mask in masks)
    wait, cost = wait_and_cost(fill, freed, policy, now_ms)
    return Masking(wait) if wait is Wait.LITTLE else Masking(wait, masks, freed, cost)


def wait_and_cost(
    fill: Fill, freed_tokens: int, policy: Policy, now_ms: int
) -> tuple[Wait | None, TrimCost | None]:
    """Returns why masks that free so much wait, if they do, and what they cost, where the context
    is not small. It decides for threads and for replays of logs alike.
    """
    if freed_tokens < policy.min_freed * fill.window:
        return Wait.LITTLE, None
    left = fill.used - freed_tokens
    cost = trim_cost(fill.used, left, fill.last_call, fill.cache, now_ms)
    return (None if _is_the_moment(fill, cost, policy) else Wait.WARM), cost


def measured_size(state: ThreadState, policy: Policy) -> tuple[int | None, int | None]:
    """Returns the tokens of the window and of the context, the latter only as measured."""
    window = window_of(state.usage, model_in(state.settings), policy)
    size = reported_size(state.usage, window)
    return window, None if size is None or size.is_estimate else size.used


def _fill(state: ThreadState, policy: Policy) -> Fill | None:
    window, size = measured_size(state, policy)
    if size is None or window is None:
        return None
    return Fill(size, window, state.usage.last_call, cache_of(state.settings, policy))


def _is_left_alone(state: ThreadState, fill: Fill) -> bool:
    """Returns whether a person has undone an automatic mask, and the context has grown little."""
    undone = [one.discard for one in state.undone if one.discard is not None]
    tenth = fill.window // 10
    return any(one.trigger == AUTO_MASK and fill.used < one.used_tokens + tenth for one in undone)


def _most_tokens_of_output(state: ThreadState, end: int) -> int:
    """Returns more than the output takes that could be masked in the turns before position `end`,
    without decoding it.
    """
    turns = state.turns[state.active_from_turn : end]
    total: int = sum(map(attrgetter("output_bytes"), turns))
    return total // _LEAST_BYTES_OF_A_TOKEN


def _is_the_moment(fill: Fill, cost: TrimCost | None, policy: Policy) -> bool:
    if cost is None or not cost.cache_is_warm:
        return True
    level = level_of(fill.used, fill.window, policy)
    calls = cost.paid_off_after_calls
    soon = calls is not None and calls <= policy.pays_off_within
    return level == "critical" or (level == "warning" and soon)
