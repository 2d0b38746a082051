"""Works out what a trim costs: the provider's cache holds the context as it was, so the next call
reads the new one anew (docs/spec/context.md).

Costs are counted in uncached tokens: a cached token counts as its price says.
"""

import math

import msgspec
from trimpoint_protocol.methods import TokenChange, TrimCost

from trimpoint.core.model.decision import CachePolicy, Policy
from trimpoint.core.model.tokens import short_count
from trimpoint.core.model.usage import ModelCall, UsageTotals, model_in

CACHED_FROM_TOKENS = 1_024
"""A provider caches no shorter beginning (OpenAI, "Prompt caching")."""


def cache_of(settings: bytes, policy: Policy) -> CachePolicy:
    """Returns what holds for the cache of the model that a thread's settings name."""
    return policy.model_caches.get(model_in(settings) or "", policy.cache)


def expires_at_ms(last: ModelCall | None, cache: CachePolicy) -> int | None:
    """Returns when the provider forgets what the last call has left in its cache, in milliseconds
    since the epoch; None if the context was not sent yet.
    """
    return None if last is None else last.at_ms + round(cache.minutes * 60_000)


def cached_percent(usage: UsageTotals) -> float | None:
    """Returns how much of the last call's input came from the provider's cache; None if it was the
    first of this context, which has nothing there, or there was none.
    """
    last = usage.last_call
    if last is None or usage.era.calls < 2:
        return None
    return round(last.cached_input * 100 / last.input, 1)


def with_cost(
    change: TokenChange, last: ModelCall | None, cache: CachePolicy, now_ms: int
) -> TokenChange:
    """Returns the change together with what it costs.

    :param last: the last model call before the change.
    """
    if change.after is None:
        return change
    cost = trim_cost(change.before, change.after, last, cache, now_ms)
    return msgspec.structs.replace(change, cost=cost)


def trim_cost(
    before: int, after: int, last: ModelCall | None, cache: CachePolicy, now_ms: int
) -> TrimCost | None:
    """Returns what it costs to go on with `after` tokens in place of `before`; None where the
    context was too small to be cached.
    """
    if before < CACHED_FROM_TOKENS:
        return None
    expires = expires_at_ms(last, cache)
    is_warm = expires is not None and now_ms < expires
    saves = before - after
    paid_off = _paid_off_after(after, saves, cache, is_warm=is_warm) if saves > 0 else None
    return TrimCost(
        cache_is_warm=is_warm,
        reads_anew_tokens=after,
        saves_tokens=saves,
        paid_off_after_calls=paid_off,
        said=_said(after, saves, paid_off, is_warm=is_warm),
    )


def _paid_off_after(after: int, saves: int, cache: CachePolicy, *, is_warm: bool) -> int:
    """Returns the first call after which it has cost no more than to go on would have."""
    lost = after * (cache.write_price - cache.cached_price) if is_warm else 0
    return max(1, math.ceil(lost / (cache.cached_price * saves)))


def _said(after: int, saves: int, paid_off: int | None, *, is_warm: bool) -> str:
    anew = f"The next call reads about {short_count(after)} tokens anew"
    if paid_off is None:
        return f"{anew}, without the provider's cache."
    if not is_warm:
        return "It costs nothing: the provider's cache holds nothing of this context any more."
    when = "with the first call" if paid_off == 1 else f"after {paid_off:,} calls"
    return f"{anew}, and each call sends {short_count(saves)} less: paid off {when}."
