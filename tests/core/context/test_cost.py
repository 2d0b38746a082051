"""What a trim costs, and when it has paid off."""

import pytest
from trimpoint.core.context.cost import cache_of, trim_cost, with_cost
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import CachePolicy, Policy
from trimpoint.core.model.usage import ModelCall
from trimpoint.core.views.meter import context_status
from trimpoint.core.views.trim_outcome import tokens_text
from trimpoint_protocol.methods import TokenChange

from tests.core.given import started
from tests.core.usage import WINDOW, call, complete

CACHE = CachePolicy(cached_price=0.1, write_price=1.0, minutes=10)
CALL = ModelCall(input=200_000, cached_input=190_000, at_ms=0)
WARM, COLD = 9 * 60_000, 10 * 60_000


@pytest.mark.parametrize(
    ("before", "after", "now_ms", "paid_off", "said"),
    [
        (
            200_000,
            38_000,
            WARM,
            3,
            "The next call reads about 38k tokens anew, and each call sends 162k less: "
            "paid off after 3 calls.",
        ),
        (
            200_000,
            1_000,
            WARM,
            1,
            "The next call reads about 1k tokens anew, and each call sends 199k less: "
            "paid off with the first call.",
        ),
        (
            200_000,
            38_000,
            COLD,
            1,
            "It costs nothing: the provider's cache holds nothing of this context any more.",
        ),
        (
            38_000,
            200_000,
            WARM,
            None,
            "The next call reads about 200k tokens anew, without the provider's cache.",
        ),
    ],
)
def test_the_cost_of_a_trim_is_what_is_read_without_the_cache(
    before: int, after: int, now_ms: int, paid_off: int | None, said: str
) -> None:
    cost = trim_cost(before, after, CALL, CACHE, now_ms)
    assert cost is not None
    assert (cost.reads_anew_tokens, cost.saves_tokens) == (after, before - after)
    assert (cost.cache_is_warm, cost.paid_off_after_calls) == (now_ms == WARM, paid_off)
    assert cost.said == said


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 40])
@pytest.mark.parametrize("after", [2_000, 38_000, 190_000])
def test_it_is_paid_off_when_going_on_would_have_cost_as_much(after: int, calls: int) -> None:
    cost = trim_cost(200_000, after, CALL, CACHE, WARM)
    assert cost is not None
    assert cost.paid_off_after_calls is not None
    trimmed = after * CACHE.write_price + (calls - 1) * after * CACHE.cached_price
    went_on = calls * 200_000 * CACHE.cached_price
    assert (calls >= cost.paid_off_after_calls) == (trimmed <= went_on)


def test_where_cached_tokens_cost_next_to_nothing_it_hardly_ever_pays_off() -> None:
    cost = trim_cost(200_000, 38_000, CALL, CachePolicy(cached_price=1e-9), WARM)
    assert cost is not None
    assert (cost.paid_off_after_calls or 0) > 1_000_000


def test_after_a_trim_nothing_of_the_context_is_cached_yet() -> None:
    cost = trim_cost(200_000, 38_000, None, CACHE, 0)
    assert cost is not None
    assert not cost.cache_is_warm


def test_a_context_that_is_too_small_to_be_cached_costs_nothing() -> None:
    assert trim_cost(1_023, 0, CALL, CACHE, 0) is None


@pytest.mark.parametrize("after", [None, 38_000])
def test_the_change_of_the_tokens_is_shown_with_its_cost(after: int | None) -> None:
    change = TokenChange(
        before=200_000, after=after, before_estimated=False, after_estimated=True, note=None
    )
    told = tokens_text(with_cost(change, CALL, CACHE, WARM))
    assert ("paid off after 3 calls" in told) == (after is not None)


def test_a_model_may_have_a_cache_of_its_own() -> None:
    own = CachePolicy(minutes=60)
    policy = Policy(model_caches={"large": own})
    assert cache_of(b'{"model":"large"}', policy) is own
    assert cache_of(b'{"model":"small"}', policy) == CachePolicy()
    assert cache_of(b"{}", policy) == CachePolicy()


def test_the_meter_shows_how_much_of_the_last_call_was_cached() -> None:
    thread = started()
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 100_000, 100_010))
    status = context_status(thread.state, Policy())
    assert status.cached_percent is None  # the first call of a context finds nothing in the cache
    assert status.cache_expires_at is not None
    thread.report(ev.UsageReported(turn_id, 100_110, 200_000, WINDOW, 100_000, 97_000, 10, 4))
    after = context_status(thread.state, Policy(cache=CachePolicy(minutes=60)))
    assert after.cached_percent == 97.0
    assert after.cache_expires_at is not None
    assert after.cache_expires_at > status.cache_expires_at
    complete(thread, turn_id)
    thread.clear(0)
    cleared = context_status(thread.state, Policy())
    assert (cleared.cached_percent, cleared.cache_expires_at) == (None, None)


def test_a_call_that_has_read_nothing_says_nothing_of_the_cache() -> None:
    thread = started()
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 10, 10, WINDOW, 0, 0, 10, 0))
    status = context_status(thread.state, Policy())
    assert (status.cached_percent, status.cache_expires_at) == (None, None)
