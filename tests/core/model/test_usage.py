"""Usage computed from reports, in the sequences in which Codex 0.163 and 0.171 send them
(measured).
"""

import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.usage import SampleSource, TokenCounts, UsageSample, model_in

from tests.core.given import SETTINGS, Conversation, raw, started
from tests.core.usage import WINDOW, call, complete, made_up


def counts(*given: int) -> TokenCounts:
    calls = len(given)
    return TokenCounts(
        sum(given),
        sum(one // 2 for one in given),
        10 * calls,
        4 * calls,
        sum(given) + 10 * calls,
        calls,
    )


def after(*reports: ev.UsageReported) -> Conversation:
    """Returns a thread in whose first turn these reports were recorded."""
    thread = started()
    thread.begin_turn()
    thread.report(*reports)
    return thread


def test_each_model_call_is_counted_and_the_last_says_what_the_context_holds() -> None:
    usage = after(call("turn-1", 2_000, 2_010), call("turn-1", 3_000, 5_020)).state.usage
    assert usage.report == UsageSample(3_010, 5_020, SampleSource.MEASURED)
    assert usage.era == usage.thread == counts(2_000, 3_000)
    assert usage.window == WINDOW


def test_a_resume_that_repeats_the_last_report_counts_nothing_twice() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    assert thread.report(call("turn-1", 2_000, 2_010)) == ()
    thread.write(call("turn-1", 2_000, 2_010))
    assert thread.state.usage.thread == counts(2_000)
    assert thread.state.usage.report == UsageSample(2_010, 2_010, SampleSource.MEASURED)


def test_a_call_that_was_missed_is_counted_when_a_resume_tells_of_it() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    thread.report(call("turn-1", 3_000, 5_020))
    assert thread.state.usage.thread == counts(2_000, 3_000)


def test_tokens_used_before_an_adoption_are_shown_but_not_counted() -> None:
    thread = started(turns=1)
    thread.report(call("turn-1", 9_000, 50_000))
    assert thread.state.usage.report == UsageSample(9_010, 50_000, SampleSource.MEASURED)
    assert thread.state.usage.thread == TokenCounts()


def test_codexs_own_compaction_repeats_the_last_report_then_calls_then_estimates() -> None:
    thread = after(call("turn-1", 245_000, 245_010))
    complete(thread, "turn-1")
    thread.begin_turn()
    thread.report(
        call("turn-2", 245_000, 245_010),
        call("turn-2", 1_000, 246_020),
        made_up("turn-2", 6_008, 246_020),
    )
    assert thread.state.usage.report == UsageSample(6_008, 246_020, SampleSource.ESTIMATED)
    assert thread.state.usage.era == counts(245_000, 1_000)
    thread.report(call("turn-2", 1_500, 247_530))
    assert thread.state.usage.report == UsageSample(1_510, 247_530, SampleSource.MEASURED)


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        ((call("turn-1", 1_000, 1_010),), 257_390),
        ((), WINDOW),
        ((call("turn-1", 200_000, 400_020),), 0),
    ],
)
def test_after_an_overflow_the_context_is_full_whatever_codex_makes_up(
    before: tuple[ev.UsageReported, ...], missing: int
) -> None:
    thread = after(*before, *before, made_up("turn-1", missing, WINDOW))
    assert thread.state.usage.report == UsageSample(missing, WINDOW, SampleSource.FULL)
    complete(thread, "turn-1", "contextWindowExceeded")
    thread.write(made_up("turn-1", missing, WINDOW))
    assert thread.state.usage.report == UsageSample(missing, WINDOW, SampleSource.FULL)
    assert thread.state.usage.thread.output == 10 * len(before)


def test_the_call_that_compacts_after_an_overflow_is_counted_and_ends_it() -> None:
    thread = after(made_up("turn-1", WINDOW, WINDOW))
    complete(thread, "turn-1", "contextWindowExceeded")
    thread.begin_turn()
    thread.report(
        made_up("turn-2", WINDOW, WINDOW),
        call("turn-2", 1_000, WINDOW + 1_010),
        made_up("turn-2", 6_009, WINDOW + 1_010),
    )
    assert thread.state.usage.report == UsageSample(6_009, WINDOW + 1_010, SampleSource.ESTIMATED)
    assert thread.state.usage.thread == counts(1_000)


def test_an_overflow_that_codex_does_not_report_as_usage_fills_the_context_too() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1", "contextWindowExceeded")
    assert thread.state.usage.report == UsageSample(2_010, 2_010, SampleSource.FULL)
    thread.write(call("turn-1", 2_000, 2_010))  # a resume
    assert thread.state.usage.report.basis is SampleSource.FULL


def test_an_overflow_of_which_nothing_was_ever_reported_fills_the_context_too() -> None:
    thread = after()
    complete(thread, "turn-1", "contextWindowExceeded")
    assert thread.state.usage.report == UsageSample(0, 0, SampleSource.FULL)


def test_a_total_that_happens_to_be_the_window_is_no_overflow() -> None:
    thread = after(call("turn-1", 2_000, WINDOW), made_up("turn-1", 700, WINDOW))
    assert thread.state.usage.report == UsageSample(700, WINDOW, SampleSource.ESTIMATED)


def test_an_estimate_after_an_overflow_that_no_call_ended_is_an_estimate() -> None:
    thread = after(made_up("turn-1", 257_390, WINDOW), made_up("turn-1", 6_007, WINDOW))
    assert thread.state.usage.report == UsageSample(6_007, WINDOW, SampleSource.ESTIMATED)


def test_an_overflow_of_the_past_says_nothing_of_what_came_after_it() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    thread.begin_turn()
    complete(thread, "turn-1", "contextWindowExceeded")
    assert thread.state.usage.report == UsageSample(2_010, 2_010, SampleSource.MEASURED)
    complete(thread, "turn-2")
    thread.clear()
    thread.write(ev.TurnCompleted("turn-2", "failed", error_kind="contextWindowExceeded"))
    assert thread.state.usage.report is None


def test_a_trim_begins_an_era_and_the_totals_continue() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    thread.clear()
    usage = thread.state.usage
    assert (usage.report, usage.era, usage.thread, usage.window) == (
        None,
        TokenCounts(),
        counts(2_000),
        WINDOW,
    )
    thread.begin_turn()
    thread.report(call("turn-2", 2_000, 2_010))  # the same numbers, but of a session of its own
    assert (thread.state.usage.era, thread.state.usage.thread) == (
        counts(2_000),
        counts(2_000, 2_000),
    )


def test_a_revert_restores_the_last_report_before_the_turn() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    for number, given in ((2, 4_000), (3, 6_000)):
        thread.begin_turn()
        thread.report(call(f"turn-{number}", given, given + 2_020))
        complete(thread, f"turn-{number}")
    thread.write(ev.TurnsRolledBack("turn-2"))
    assert thread.state.usage.report == UsageSample(2_010, 2_010, SampleSource.MEASURED)
    assert thread.state.usage.thread == counts(2_000, 4_000, 6_000)
    thread.report(call("turn-1", 2_000, 2_010))  # Codex's running total went back with the turns
    thread.begin_turn()
    thread.report(call("turn-4", 4_000, 6_020))
    assert thread.state.usage.thread == counts(2_000, 4_000, 6_000, 4_000)


def test_a_revert_of_an_overflow_takes_the_overflow_back() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    thread.begin_turn()
    thread.report(made_up("turn-2", 256_390, WINDOW))
    complete(thread, "turn-2", "contextWindowExceeded")
    thread.write(ev.TurnsRolledBack("turn-2"))
    assert thread.state.usage.report == UsageSample(2_010, 2_010, SampleSource.MEASURED)


def test_a_report_of_another_generation_is_not_restored() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    complete(thread, "turn-1")
    thread.turn()
    thread.clear(1)
    thread.begin_turn()
    thread.report(call("turn-3", 3_000, 3_010))
    complete(thread, "turn-3")
    thread.write(ev.TurnsRolledBack("turn-3"))
    assert thread.state.usage.report is None


def test_usage_of_a_turn_that_is_not_in_the_books_still_tells_of_the_context() -> None:
    thread = started()
    thread.report(made_up("a compaction's", 6_008, 2_000))
    assert thread.state.usage.report == UsageSample(6_008, 2_000, SampleSource.ESTIMATED)


def test_the_first_call_of_a_generation_is_remembered() -> None:
    thread = after(call("turn-1", 2_000, 2_010), call("turn-1", 3_000, 5_020))
    first = thread.state.generation.first_call
    assert first is not None
    assert (first.turn_id, first.input_tokens) == ("turn-1", 2_000)


def test_another_model_has_another_window() -> None:
    thread = after(call("turn-1", 2_000, 2_010))
    thread.report(
        ev.SettingsChanged(raw(start={"cwd": "/work"}, current={"model": "gpt-5"}, model="gpt-5"))
    )
    assert thread.state.usage.window == WINDOW
    thread.report(
        ev.SettingsChanged(
            raw(start={"cwd": "/work"}, current={"model": "gpt-5", "effort": "high"})
        )
    )
    assert thread.state.usage.window == WINDOW
    thread.report(ev.SettingsChanged(raw(start={"cwd": "/work"}, current={"model": "tiny"})))
    assert (thread.state.usage.window, thread.state.usage.report) == (
        None,
        UsageSample(2_010, 2_010, SampleSource.MEASURED),
    )


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        (b"{}", None),
        (SETTINGS, "gpt-5"),
        (raw(start={"model": "asked"}, current=None, model="told"), "asked"),
        (raw(start={}, current={"model": "now"}, model="told"), "now"),
        (raw(start={}, current={"effort": "low"}, model="told"), "told"),
    ],
)
def test_the_model_is_the_newest_that_was_named(settings: bytes, model: str | None) -> None:
    assert model_in(settings) == model
