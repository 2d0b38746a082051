"""`/stats`: the model calls of a thread, and what its trims have saved."""

from datetime import date, timedelta

import pytest
from trimpoint.core.commands.arguments import since_in
from trimpoint.core.commands.looking import Stats, Timeline
from trimpoint.core.commands.parsing import UsageError, parse
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy

from tests.core.given import Conversation, started


def stats(thread: Conversation) -> list[str]:
    return Stats().answer(thread.state, Policy()).text.splitlines()


def calls(thread: Conversation, *given: int, cached: int = 0) -> None:
    """Runs a turn with one model call for each number of input tokens."""
    turn_id = thread.begin_turn()
    total = thread.state.usage.report.running_total if thread.state.usage.report else 0
    for one in given:
        total += one + 10
        thread.report(ev.UsageReported(turn_id, one + 10, total, 258_400, one, cached, 10, 0))
    thread.report(ev.TurnCompleted(turn_id, "completed"))


def test_before_the_first_call_there_is_nothing_to_count() -> None:
    assert stats(started()) == ["No call of the model was counted yet."]


def test_a_thread_that_was_never_trimmed_has_only_its_calls() -> None:
    thread = started()
    calls(thread, 1_000, 3_000, cached=500)
    assert stats(thread) == [
        "2 calls of the model: 4k tokens in (25% from the provider's cache), 20 out.",
        "It was not trimmed.",
    ]


def test_each_call_after_a_trim_is_smaller_by_what_the_trim_has_removed() -> None:
    thread = started()
    calls(thread, 100_000)
    thread.clear(0)
    calls(thread, 20_010, 21_000, 22_000, cached=10)
    assert stats(thread)[1:] == [
        "Trims: 1 clear.",
        "Trims have kept about 240k tokens from being sent, and the first calls after them read "
        "20k anew.",
    ]


def test_a_trim_is_counted_up_to_the_next_one() -> None:
    thread = started()
    calls(thread, 100_000)
    thread.clear(0)
    calls(thread, 60_010)
    thread.clear(0)
    calls(thread, 20_020, 20_020)
    assert thread.state.usage.spared == 40_000 + 2 * 40_000
    assert stats(thread)[1] == "Trims: 2 clears."


def test_a_trim_that_has_removed_nothing_saves_nothing() -> None:
    thread = started()
    calls(thread, 20_000)
    thread.clear(0)
    calls(thread, 30_000)
    assert stats(thread)[1:] == ["Trims: 1 clear."]
    assert thread.state.usage.read_anew == 0


def test_a_trim_of_a_context_that_was_never_measured_is_not_counted() -> None:
    thread = started(turns=3)
    thread.clear(0)
    calls(thread, 20_000)
    assert stats(thread)[1:] == ["Trims: 1 clear."]


@pytest.mark.parametrize(
    ("typed", "by", "since"),
    [
        ("/stats", None, None),
        ("/stats --by day", "day", None),
        ("/stats --by MODEL --since 7d", "MODEL", "7d"),
        ("/stats --since 2026-01-31", None, "2026-01-31"),
    ],
)
def test_an_option_asks_for_the_sums_of_all_threads(
    typed: str, by: str | None, since: str | None
) -> None:
    parsed = parse(typed)
    assert isinstance(parsed, Stats)
    assert parsed.is_of_all == (typed != "/stats")
    assert parsed.since == since
    assert parsed.grouping == (by or "thread").lower()


@pytest.mark.parametrize(
    "typed",
    ["/stats --by week", "/stats --since yesterday", "/stats --since 7", "/stats --since 2026-02-31", "/stats --since -3d", "/stats --by"],
)  # fmt: skip
def test_what_is_no_grouping_and_no_time_is_refused(typed: str) -> None:
    parsed = parse(typed)
    assert isinstance(parsed, UsageError)


def test_an_age_and_a_date_say_when_to_begin() -> None:
    assert since_in("36h") == timedelta(days=1, hours=12)
    assert since_in("2w") == timedelta(days=14)
    assert since_in("2026-01-31") == date(2026, 1, 31)
    with pytest.raises(ValueError, match="soon"):
        since_in("soon")


def test_other_commands_are_about_one_thread() -> None:
    assert not Timeline().is_of_all
