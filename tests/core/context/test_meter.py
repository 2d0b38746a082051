"""The meter: Codex's own numbers where it reported any, and a note where it did not."""

import msgspec
import pytest
from trimpoint.core.context.context_size import (
    BASELINE_TOKENS,
    MAX_WEIGHED_TURNS,
    NOT_REPORTED,
    ContextSize,
    left_percent,
    overhead_tokens,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens
from trimpoint.core.model.usage import UsageTotals
from trimpoint.core.views.meter import context_status, status_of
from trimpoint_protocol import readmodel as rm

from tests.core.given import (
    SETTINGS,
    Conversation,
    activity,
    assistant,
    raw,
    raw_message,
    raw_turn,
    started,
    user,
)
from tests.core.usage import WINDOW, call, complete, made_up

PROMPT = "What is in this folder, and what of it matters to somebody who is new here?"
MODELS = Policy(model_windows={"gpt-5": 100_000})


def meter(thread: Conversation, policy: Policy | None = None) -> rm.ContextStatus:
    return context_status(thread.state, policy or Policy())


def used(
    given: int, window: int | None = WINDOW, thread: Conversation | None = None
) -> Conversation:
    """Returns a thread whose turn ended with this many input tokens and ten output tokens."""
    thread = thread or started()
    turn_id = thread.begin_turn(PROMPT)
    thread.report(
        call(turn_id, given, given + 10, window),
        ev.ContextItemsRecorded(turn_id, raw_turn(PROMPT, "a")),
    )
    thread.report(assistant(turn_id, "a"))
    complete(thread, turn_id)
    return thread


def test_the_meter_shows_the_figures_that_codex_reported() -> None:
    status = meter(used(100_000))
    assert (status.used_tokens, status.window_tokens) == (100_010, WINDOW)
    assert (status.estimated, status.unknown) == (False, False)
    assert (status.percent, status.level) == (38.7, "ok")
    assert (status.thread_id, status.model, status.generation) == ("thread-1", "gpt-5", 1)


@pytest.mark.parametrize(
    ("given", "window", "left"),
    [(0, 258_400, 100), (12_000, 258_400, 100), (135_200, 258_400, 50), (258_400, 258_400, 0), (400_000, 258_400, 0), (10, 12_000, 0), (10, 1, 0)],
)  # fmt: skip
def test_left_percent_is_the_figure_of_codexs_own_interface(
    given: int, window: int, left: int
) -> None:
    assert left_percent(given, window) == left


def test_half_a_percent_left_is_rounded_up_as_codex_does() -> None:
    window = BASELINE_TOKENS + 1_000
    assert [left_percent(window - left, window) for left in (4, 5, 15, 25)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (69_989, "ok"),
        (69_990, "warning"),
        (89_989, "warning"),
        (89_990, "critical"),
        (120_000, "critical"),
    ],
)
def test_a_level_begins_at_its_threshold(given: int, level: str) -> None:
    assert meter(used(given, 100_000)).level == level


def test_thresholds_can_be_moved() -> None:
    status = meter(used(50_000, 100_000), Policy(warning_at=0.2, critical_at=0.5))
    assert status.level == "critical"


def test_codex_itself_would_compact_at_nine_tenths_of_the_raw_window() -> None:
    assert (
        meter(used(1_000)).provider_compacts_at_tokens == 244_800
    )  # of 272,000, of which Codex gives 258,400


def test_codex_compacts_earlier_at_a_lower_configured_limit() -> None:
    assert (
        meter(used(1_000), Policy(provider_compacts_at=5_000)).provider_compacts_at_tokens == 5_000
    )
    assert (
        meter(used(1_000), Policy(provider_compacts_at=500_000)).provider_compacts_at_tokens
        == 244_800
    )


def test_the_compaction_limit_of_a_thread_comes_before_the_configured_one() -> None:
    thread = used(1_000)
    config = {"model_auto_compact_token_limit": 6_000}
    thread.report(ev.SettingsChanged(raw(start={"config": config}, current={"model": "gpt-5"})))
    assert meter(thread, Policy(provider_compacts_at=5_000)).provider_compacts_at_tokens == 6_000
    thread.report(
        ev.SettingsChanged(raw(start={"config": {"model_auto_compact_token_limit": "soon"}}))
    )
    assert (
        meter(thread).provider_compacts_at_tokens is None
    )  # as the window, now that the model is another


def test_without_a_window_the_one_configured_for_the_model_holds() -> None:
    status = meter(used(70_000, None), MODELS)
    assert (status.window_tokens, status.percent, status.level) == (100_000, 70.0, "warning")


def test_the_window_that_codex_reports_wins_over_the_configured_one() -> None:
    assert meter(used(70_000), MODELS).window_tokens == WINDOW


def test_without_any_window_there_is_no_percentage() -> None:
    status = meter(used(70_000, None), Policy(model_windows={"another": 1}))
    assert (status.used_tokens, status.window_tokens) == (70_010, None)
    assert (
        status.percent,
        status.left_percent,
        status.level,
        status.provider_compacts_at_tokens,
    ) == (None, None, None, None)


def test_another_model_has_another_window_until_codex_says_how_large() -> None:
    thread = used(70_000)
    thread.report(ev.SettingsChanged(raw(start={}, current={"model": "small"})))
    assert (meter(thread).window_tokens, meter(thread).used_tokens) == (None, 70_010)
    assert meter(thread, Policy(model_windows={"small": 80_000})).level == "warning"


def test_a_new_thread_is_unknown_and_empty() -> None:
    status = meter(started())
    assert (status.unknown, status.estimated, status.used_tokens, status.window_tokens) == (
        True,
        True,
        0,
        None,
    )


def test_after_a_clear_the_context_is_estimated_from_what_a_session_costs_and_what_was_kept() -> (
    None
):
    thread = used(30_000)
    overhead = 30_000 - estimate_text_tokens(PROMPT)
    assert overhead_tokens(thread.state) == overhead
    used(200_000, thread=thread)
    thread.clear()
    cleared = meter(thread)
    assert (cleared.used_tokens, cleared.unknown, cleared.estimated) == (overhead, True, True)
    assert (cleared.window_tokens, cleared.generation) == (WINDOW, 2)


def test_kept_turns_weigh_what_their_items_weigh() -> None:
    thread = used(30_000)
    overhead = overhead_tokens(thread.state)
    kept = (
        raw_message("user", "x " * 500),
        raw(type="reasoning", encrypted_content="e" * 4_000),
        raw_message("assistant", "y"),
    )
    thread.turn(items=kept)
    thread.clear(1)
    assert meter(thread).used_tokens == overhead + sum(estimate_tokens(item) for item in kept)


def test_a_summary_weighs_too_and_so_does_what_is_said_before_the_first_report() -> None:
    thread = used(30_000)
    thread.compact("the gist " * 200)
    with_summary = meter(thread).used_tokens
    assert with_summary > overhead_tokens(thread.state) + 200
    thread.turn("and a prompt more", "and an answer")
    assert meter(thread).used_tokens > with_summary


def test_the_first_report_ends_the_guessing() -> None:
    thread = used(30_000)
    thread.clear()
    used(4_000, thread=thread)
    assert (meter(thread).used_tokens, meter(thread).unknown, meter(thread).estimated) == (
        4_010,
        False,
        False,
    )


def test_overhead_is_measured_in_the_newest_session_that_began_empty() -> None:
    thread = used(30_000)
    thread.turn()
    thread.clear(1)
    used(9_000, thread=thread)  # began with a kept turn
    assert overhead_tokens(thread.state) == 30_000 - estimate_text_tokens(PROMPT)
    thread.compact("gist")
    used(7_000, thread=thread)
    assert 6_900 < overhead_tokens(thread.state) < 7_000 - estimate_text_tokens(PROMPT)


def test_else_in_the_newest_that_began_with_turns_which_weigh_what_is_seen_of_them() -> None:
    thread = started()
    for number in (1, 2):
        thread.turn(f"prompt {number}", "a" * 400, activities=["cat everything"])
    thread.clear(1)
    used(30_000, thread=thread)
    kept = sum(estimate_text_tokens(text) for text in ("prompt 2", "a" * 400)) + estimate_tokens(
        activity("t", "cat everything").detail
    )
    assert overhead_tokens(thread.state) == 30_000 - estimate_text_tokens(PROMPT) - kept


def test_turns_before_the_first_report_of_a_session_are_no_part_of_what_it_costs() -> None:
    thread = started()
    thread.turn("a prompt that nothing was reported of", "an answer")
    with_it = used(30_000, thread=thread)
    texts = (PROMPT, "a prompt that nothing was reported of", "an answer")
    assert overhead_tokens(with_it.state) == 30_000 - sum(
        estimate_text_tokens(text) for text in texts
    )


def test_overhead_is_never_negative() -> None:
    thread = started()
    turn_id = thread.begin_turn("word " * 1_000)
    thread.report(call(turn_id, 10, 20))
    assert overhead_tokens(thread.state) == 0


def test_overhead_is_still_known_after_all_turns_were_taken_back() -> None:
    thread = used(30_000)
    overhead = overhead_tokens(thread.state)
    thread.write(ev.TurnsRolledBack("turn-1"))
    assert overhead > 29_000
    assert (meter(thread).unknown, meter(thread).used_tokens) == (True, overhead)


def test_a_new_thread_is_estimated_by_what_was_known_of_the_one_before() -> None:
    thread = Conversation()
    thread.write(
        ev.ThreadCreated(
            "thread-2", "/work", "new", SETTINGS, overhead_tokens=14_000, window_tokens=WINDOW
        ),
        ev.GenerationOpened(1, "start", "none"),
    )
    status = meter(thread)
    assert (status.used_tokens, status.window_tokens) == (14_000, WINDOW)
    assert (status.unknown, status.note) == (True, NOT_REPORTED)


def test_after_a_revert_the_meter_shows_what_it_showed_then() -> None:
    thread = used(30_000)
    before = meter(thread)
    used(90_000, thread=thread)
    thread.write(ev.TurnsRolledBack("turn-2"))
    after = meter(thread)
    assert (after.used_tokens, after.percent) == (before.used_tokens, before.percent)
    assert after.total_input_tokens == 120_000


def test_an_overflow_shows_a_full_window_and_says_that_it_is_no_measure() -> None:
    thread = used(200_000)
    turn_id = thread.begin_turn()
    thread.report(made_up(turn_id, 58_390, WINDOW))
    for _ in ("before it is known to be an overflow", "after"):
        status = meter(thread)
        assert (status.used_tokens, status.percent, status.level) == (WINDOW, 100.0, "critical")
        assert (status.estimated, status.unknown, status.left_percent) == (True, False, 0)
        complete(thread, turn_id, "contextWindowExceeded")


def test_an_overflow_without_a_window_shows_what_was_last_measured() -> None:
    thread = used(70_000, None)
    complete(thread, thread.begin_turn(), "contextWindowExceeded")
    assert (meter(thread).used_tokens, meter(thread).estimated) == (70_010, True)
    assert meter(thread, MODELS).used_tokens == 100_000


def test_codexs_estimate_after_its_own_compaction_is_marked_as_one() -> None:
    thread = used(245_000)
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 1_000, 246_020), made_up(turn_id, 6_008, 246_020))
    thread.report(
        ev.EntryRecorded(
            turn_id,
            "c",
            "activity",
            "contextCompaction",
            "Codex compacted the context automatically",
        )
    )
    status = meter(thread)
    assert (status.used_tokens, status.estimated, status.unknown) == (6_008, True, False)
    assert (status.compaction_count, status.provider_compaction_count) == (0, 1)
    assert thread.state.trim_points == []


def test_tokens_are_counted_of_this_era_and_of_the_whole_thread() -> None:
    thread = used(30_000)
    thread.compact("gist")
    used(4_000, thread=thread)
    status = meter(thread)
    assert (status.current_input_tokens, status.current_cached_input_tokens) == (4_000, 2_000)
    assert (
        status.current_output_tokens,
        status.current_reasoning_output_tokens,
        status.current_total_tokens,
    ) == (10, 4, 4_010)
    assert (status.total_input_tokens, status.total_cached_input_tokens) == (34_000, 17_000)
    assert (
        status.total_output_tokens,
        status.total_reasoning_output_tokens,
        status.total_tokens,
    ) == (20, 8, 34_020)
    assert status.compaction_count == 1


def test_a_sealed_summary_is_weighed_by_what_stands_beside_it() -> None:
    thread = used(30_000)
    thread.turn("kept", "kept as well")
    thread.compact(None, keep=1)
    status = meter(thread)
    kept = sum(estimate_tokens(item) for item in raw_turn("kept", "kept as well"))
    assert (status.unknown, status.used_tokens) == (True, overhead_tokens(thread.state) + kept)


def test_injected_items_are_added_by_estimate_until_the_next_report() -> None:
    thread = used(30_000)
    item = raw_message("user", "a long story " * 100)
    thread.report(ev.ContextItemsRecorded("turn-1", (item,)))
    thread.write(call("turn-1", 30_000, 30_010))  # a resume says again what was before
    assert (meter(thread).used_tokens, meter(thread).estimated) == (
        30_010 + estimate_tokens(item),
        True,
    )
    thread.report(ev.ContextItemsRecorded("turn-1", (item,), "rollout"))
    assert meter(thread).used_tokens == 30_010 + estimate_tokens(item)
    used(31_000, thread=thread)
    assert (meter(thread).used_tokens, meter(thread).estimated) == (31_010, False)
    thread.report(ev.ContextItemsRecorded("turn-2", (item,)))
    thread.clear()
    assert meter(thread).used_tokens == overhead_tokens(thread.state)


def test_a_thread_that_is_not_in_the_books_has_a_meter_without_a_past() -> None:
    status = status_of(
        "sub-agent",
        UsageTotals(),
        None,
        ContextSize(0, is_estimate=True, is_unknown=True),
        Policy(),
    )
    assert (status.generation, status.compaction_count, status.unknown) == (None, 0, True)
    assert msgspec.json.decode(msgspec.json.encode(status))["usedTokens"] == 0


def test_prompts_steered_into_the_first_call_are_no_part_of_what_a_session_costs() -> None:
    thread = started()
    turn_id = thread.begin_turn(PROMPT)
    thread.report(user(turn_id, "and quickly"), call(turn_id, 30_000, 30_010))
    assert overhead_tokens(thread.state) == 30_000 - estimate_text_tokens(
        PROMPT
    ) - estimate_text_tokens("and quickly")


def test_a_first_call_after_very_many_unreported_turns_measures_no_session() -> None:
    thread = started(turns=MAX_WEIGHED_TURNS + 1)
    thread.report(call(thread.begin_turn(PROMPT), 30_000, 30_010))
    assert overhead_tokens(thread.state) == 0
