"""The rules of automatic masking: when old output is masked without a request
(docs/spec/context.md).

It runs between turns. Masking makes the provider's cache forget the context, so it is done in
batches: where the cache is cold, it costs nothing; where it is warm, only from the warning level
on, and only if it pays off soon. A person who undoes it is left alone until the context has grown
by a tenth of the window.
"""

from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from trimpoint_protocol.methods import TrimCost

from trimpoint.core.context.context_size import level_of, reported_size, window_of
from trimpoint.core.context.cost import cache_of, trim_cost
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.discarding import discard_refusal
from trimpoint.core.decide.masking import Mask, proposed_masks
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in

AUTO_MASK = "autoMask"
"""The trigger of an automatic mask."""
PAYS_OFF_WITHIN_CALLS = 20
_LEAST_BYTES_OF_A_TOKEN = 2


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


class Masking(NamedTuple):
    """The masks that would help, with what they free and cost; they are made as soon as there is no
    `wait`. There are none where the wait is longer than for a cold cache.
    """

    wait: Wait | None
    masks: tuple[Mask, ...] = ()
    freed_tokens: int = 0
    cost: TrimCost | None = None


def masking_wait(state: ThreadState, policy: Policy, now_ms: int) -> Wait | None:
    """Returns why nothing is to be masked, as far as that is known without decoding what the
    context holds: the output is taken for more tokens than it can have.

    :param now_ms: the time in milliseconds since the epoch.
    """
    if policy.auto not in ("mask", "compact"):
        return Wait.NOT_CHOSEN
    window, size = measured_size(state, policy)
    if size is None or window is None:
        return Wait.NOT_MEASURED
    if size < policy.mask_at * window:
        return Wait.SMALL
    if _is_left_alone(state, size, window):
        return Wait.LEFT_ALONE
    if discard_refusal(state) is not None:
        return Wait.NOT_KNOWN
    most = _most_tokens_of_output(state, policy)
    if most < policy.min_freed * window:
        return Wait.LITTLE
    cost = _cost(state, policy, size, min(most, size), now_ms)
    return None if _is_the_moment(size, window, cost, policy) else Wait.WARM


def masking(state: ThreadState, policy: Policy, now_ms: int) -> Masking:
    """Returns what is to be masked as soon as the thread is idle, or why that waits. It reads the
    whole context, unless that can be seen to be in vain.
    """
    wait = masking_wait(state, policy, now_ms)
    window, size = measured_size(state, policy)
    if wait not in (None, Wait.WARM) or window is None or size is None:
        return Masking(wait)
    masks = tuple(proposed_masks(state, context_segments(state), 0, policy.discard))
    freed = sum(mask.freed_tokens for mask in masks)
    if freed < policy.min_freed * window:
        return Masking(Wait.LITTLE)
    cost = _cost(state, policy, size, freed, now_ms)
    is_time = _is_the_moment(size, window, cost, policy)
    return Masking(None if is_time else Wait.WARM, masks, freed, cost)


def measured_size(state: ThreadState, policy: Policy) -> tuple[int | None, int | None]:
    """Returns the tokens of the window and of the context, the latter only as measured."""
    window = window_of(state.usage, model_in(state.settings), policy)
    size = reported_size(state.usage, window)
    return window, None if size is None or size.is_estimate else size.used


def _is_left_alone(state: ThreadState, used: int, window: int) -> bool:
    """Returns whether a person has undone an automatic mask, and the context has grown little."""
    undone = [one.discard for one in state.undone if one.discard is not None]
    return any(one.trigger == AUTO_MASK and used < one.used_tokens + window // 10 for one in undone)


def _most_tokens_of_output(state: ThreadState, policy: Policy) -> int:
    """Returns more than the output that could be masked takes, without decoding it."""
    end = max(0, len(state.turns) - policy.discard.keep_turns)
    turns = state.turns[state.active_from_turn : end]
    total: int = sum(map(attrgetter("output_bytes"), turns))
    return total // _LEAST_BYTES_OF_A_TOKEN


def _cost(
    state: ThreadState, policy: Policy, size: int, freed: int, now_ms: int
) -> TrimCost | None:
    cache = cache_of(state.settings, policy)
    return trim_cost(size, size - freed, state.usage.last_call, cache, now_ms)


def _is_the_moment(size: int, window: int, cost: TrimCost | None, policy: Policy) -> bool:
    if cost is None or not cost.cache_is_warm:
        return True
    level = level_of(size, window, policy)
    soon = (cost.paid_off_after_calls or PAYS_OFF_WITHIN_CALLS + 1) <= PAYS_OFF_WITHIN_CALLS
    return level == "critical" or (level == "warning" and soon)
