"""The rules of automatic masking: when old output is masked without a request
(docs/spec/context.md).

It runs between turns. Masking makes the provider's cache forget the context, so it is done in
batches: where the cache is cold, it costs nothing; where it is warm, only from the warning level
on, and only if it pays off soon. A person who undoes it is left alone until the context has grown
by a tenth of the window.
"""

from trimpoint_protocol.methods import TrimCost

from trimpoint.core.context.context_size import Level, level_of, reported_size, window_of
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
_MASKING = ("mask", "compact")
_OUTPUT = b"_call_output"
_LEAST_BYTES_OF_A_TOKEN = 2


def may_mask(state: ThreadState, policy: Policy) -> bool:
    """Returns whether masks may be due, without looking into the items of the context."""
    window, size = _measured(state, policy)
    return (
        policy.auto in _MASKING
        and size is not None
        and window is not None
        and size >= policy.mask_at * window
        and not _is_left_alone(state, size, window)
        and _most_tokens_of_output(state, policy) >= policy.min_freed * window
        and discard_refusal(state) is None
    )


def masks_due(state: ThreadState, policy: Policy, now_ms: int) -> list[Mask]:
    """Returns the masks that are to be made as soon as the thread is idle; none if it is not time.

    :param now_ms: the time in milliseconds since the epoch.
    """
    window, size = _measured(state, policy)
    if window is None or size is None or not may_mask(state, policy):
        return []
    masks = list(proposed_masks(state, context_segments(state), 0, policy.discard))
    freed = sum(mask.freed_tokens for mask in masks)
    if freed < policy.min_freed * window:
        return []
    cost = trim_cost(
        size, size - freed, state.usage.last_call, cache_of(state.settings, policy), now_ms
    )
    is_time = _is_the_moment(level_of(size, window, policy), cost)
    return masks if is_time else []


def _measured(state: ThreadState, policy: Policy) -> tuple[int | None, int | None]:
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
    turns = state.active_turns[: max(0, state.active_turn_count - policy.discard.keep_turns)]
    sizes = (len(item) for turn in turns for item in turn.items if _OUTPUT in item[:200])
    return sum(sizes) // _LEAST_BYTES_OF_A_TOKEN


def _is_the_moment(level: Level, cost: TrimCost | None) -> bool:
    if cost is None or not cost.cache_is_warm:
        return True
    soon = (cost.paid_off_after_calls or PAYS_OFF_WITHIN_CALLS + 1) <= PAYS_OFF_WITHIN_CALLS
    return level == "critical" or (level == "warning" and soon)
