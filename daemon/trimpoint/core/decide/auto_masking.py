"""The rules of automatic masking: when old output is masked without a request
(docs/spec/context.md).

It runs between turns. Masking makes the provider's cache forget the context, so it is done in
batches: where the cache is cold, it costs nothing; where it is warm, only from the warning level
on, and only if it pays off soon. A person who undoes it is left alone until the context has grown
by a tenth of the window.
"""

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
_MASKING = ("mask", "compact")
_OUTPUT = b"_call_output"
_LEAST_BYTES_OF_A_TOKEN = 2


def masks_due(state: ThreadState, policy: Policy, now_ms: int) -> list[Mask]:
    """Returns the masks that are to be made as soon as the thread is idle; none if it is not time.

    :param now_ms: the time in milliseconds since the epoch.
    """
    window = window_of(state.usage, model_in(state.settings), policy)
    size = reported_size(state.usage, window)
    if policy.auto not in _MASKING or size is None or size.is_estimate or not window:
        return []
    least = round(policy.min_freed * window)
    if size.used < policy.mask_at * window or _is_left_alone(state, size.used, window):
        return []
    if _most_tokens_of_output(state, policy) < least or discard_refusal(state) is not None:
        return []
    masks = list(proposed_masks(state, context_segments(state), 0, policy.discard))
    freed = sum(mask.freed_tokens for mask in masks)
    if freed < least or not _is_the_moment(state, policy, size.used, freed, now_ms):
        return []
    return masks


def _is_left_alone(state: ThreadState, used: int, window: int) -> bool:
    """Returns whether a person has undone an automatic mask, and the context has grown little."""
    undone = [one.discard for one in state.undone if one.discard is not None]
    return any(one.trigger == AUTO_MASK and used < one.used_tokens + window // 10 for one in undone)


def _most_tokens_of_output(state: ThreadState, policy: Policy) -> int:
    """Returns more than the output that could be masked takes, without decoding it."""
    turns = state.active_turns[: max(0, state.active_turn_count - policy.discard.keep_turns)]
    sizes = (len(item) for turn in turns for item in turn.items if _OUTPUT in item[:200])
    return sum(sizes) // _LEAST_BYTES_OF_A_TOKEN


def _is_the_moment(state: ThreadState, policy: Policy, used: int, freed: int, now_ms: int) -> bool:
    cache = cache_of(state.settings, policy)
    cost = trim_cost(used, used - freed, state.usage.last_call, cache, now_ms)
    if cost is None or not cost.cache_is_warm:
        return True
    window = window_of(state.usage, model_in(state.settings), policy)
    level = level_of(used, window, policy) if window is not None else "ok"
    soon = (cost.paid_off_after_calls or PAYS_OFF_WITHIN_CALLS + 1) <= PAYS_OFF_WITHIN_CALLS
    return level == "critical" or (level == "warning" and soon)
