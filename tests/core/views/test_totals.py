"""What the model calls of all threads took, against a count of the journals' own reports."""

import random
from collections import Counter, defaultdict

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.usage import QUARTER_MS, Spent
from trimpoint.core.views.totals import LISTED, Asked, Spending, encoded_spent, totals, totals_text
from trimpoint_protocol.shapes.stats import Grouping, Stats

from tests.core.given import SETTINGS, START_MS, Conversation, started

MODELS = ("gpt-5", "gpt-5-mini")


def spending(thread: Conversation, name: str = "a", cwd: str = "/work") -> Spending:
    return Spending(name, f"thread {name}", cwd, encoded_spent(thread.state))


def summed(
    *threads: Spending, by: Grouping = "thread", since_ms: int | None = None, unreadable: int = 0
) -> Stats:
    return totals(threads, Asked(by, since_ms, day_of, 100), unreadable)


def day_of(at_ms: int) -> str:
    return f"day {at_ms // 86_400_000}"


def call(thread: Conversation, given: int, cached: int = 0) -> None:
    """Runs a turn with one call of so many input tokens."""
    turn_id = thread.begin_turn()
    total = thread.state.usage.report.running_total if thread.state.usage.report else 0
    report = ev.UsageReported(
        turn_id, given + 10, total + given + 10, 258_400, given, cached, 10, 0
    )
    thread.report(report)
    thread.report(ev.TurnCompleted(turn_id, "completed"))


def choose(thread: Conversation, model: str) -> None:
    thread.write(ev.SettingsChanged(SETTINGS.replace(b"gpt-5", model.encode())))


def lived(seed: int) -> Conversation:
    """A thread with calls of two models, trims and undone trims."""
    chance, thread = random.Random(seed), started()
    for _ in range(chance.randrange(5, 40)):
        match chance.randrange(6):
            case 0 if thread.state.active_turn_count:
                thread.clear(0)
            case 1:
                choose(thread, chance.choice(MODELS))
            case _:
                call(thread, chance.randrange(1_000, 90_000), chance.randrange(900))
    return thread


def reported(thread: Conversation) -> dict[str, Counter[str]]:
    """What the journal's reports say, by model."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    model = "gpt-5"
    for record in thread.records:
        for event in record.events:
            if isinstance(event, ev.SettingsChanged):
                model = msgspec.json.decode(event.settings)["model"]
            elif isinstance(event, ev.UsageReported):
                found[model] += Counter(
                    calls=1, given=event.input, cached=event.cached_input, out=event.output
                )
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_sums_are_those_of_the_reports(seed: int) -> None:
    thread = lived(seed)
    shown = summed(spending(thread), by="model")
    found = {
        row.key: Counter(
            calls=row.calls,
            given=row.input_tokens,
            cached=row.cached_input_tokens,
            out=row.output_tokens,
        )
        for row in shown.rows
        if row.calls
    }
    assert found == {model: count for model, count in reported(thread).items() if count}
    usage = thread.state.usage
    assert shown.total.calls == usage.thread.calls
    assert (shown.total.spared_tokens, shown.total.read_anew_tokens) == (
        usage.spared,
        usage.read_anew,
    )
    assert shown.total.trims == Counter(one.trigger for one in thread.state.boundaries)


@pytest.mark.parametrize("by", ["thread", "folder", "day", "model"])
def test_each_grouping_has_the_same_total(by: Grouping) -> None:
    threads = [spending(lived(seed), f"t{seed}", f"/work/{seed % 2}") for seed in range(6)]
    shown = summed(*threads, by=by)
    assert shown.total == summed(*threads).total
    assert sum(row.calls for row in shown.rows) == shown.total.calls
    assert sum(row.spared_tokens for row in shown.rows) == shown.total.spared_tokens


def test_days_are_in_their_order_and_the_others_by_their_tokens() -> None:
    early, late = Spent(0, "small", 1, 10, 0, 1), Spent(200, "large", 1, 90, 0, 1)
    given = Spending("t", "", "/", msgspec.msgpack.encode([late, early]))
    assert [row.key for row in summed(given, by="day").rows] == ["day 0", "day 2"]
    assert [row.key for row in summed(given, by="model").rows] == ["large", "small"]


def test_only_what_was_spent_since_then_counts() -> None:
    rows = [Spent(0, "m", 1, 10), Spent(1, "m", 1, 20), Spent(2, "m", 1, 40)]
    given = Spending("t", "", "/", msgspec.msgpack.encode(rows))
    assert summed(given, since_ms=QUARTER_MS).total.input_tokens == 60
    assert summed(given, since_ms=QUARTER_MS - 1).total.input_tokens == 70
    assert summed(given, since_ms=9 * QUARTER_MS).rows == []


def test_a_quarter_of_an_hour_has_one_row_for_each_run_of_a_model() -> None:
    thread = started()
    call(thread, 1_000)
    call(thread, 2_000)
    choose(thread, "gpt-5-mini")
    call(thread, 3_000)
    assert [(one.quarter, one.model, one.calls) for one in thread.state.usage.spent] == [
        (START_MS // QUARTER_MS, "gpt-5", 2),
        (START_MS // QUARTER_MS, "gpt-5-mini", 1),
    ]


def test_a_trim_before_the_first_call_counts() -> None:
    thread = started(turns=2)
    thread.clear(0)
    shown = summed(spending(thread), by="model")
    assert [(row.key, row.calls, row.trims) for row in shown.rows] == [("", 0, {"clear": 1})]
    assert totals_text(shown) == "1 thread: 0 calls, 1 clear\nunknown: 0 calls, 1 clear"


def test_a_trim_that_a_fork_has_inherited_counts_where_it_was_made() -> None:
    thread = started(turns=2)
    thread.clear(0)
    thread.state.created_at_ms = thread.state.trim_points[-1].created_at_ms + 1
    assert summed(spending(thread)).total.trims == {}


def test_of_many_threads_those_with_the_most_tokens_are_rows() -> None:
    threads = [
        Spending(f"t{n}", "", "/", msgspec.msgpack.encode([Spent(0, "m", 1, 10 * n)]))
        for n in range(1, 40)
    ]
    shown = totals(threads, Asked("thread", None, day_of, 25))
    assert [row.key for row in shown.rows] == [f"t{n}" for n in range(39, 14, -1)]
    assert (shown.more_rows, shown.total.calls) == (14, 39)
    assert totals_text(shown).splitlines()[-1] == f"{39 - LISTED} smaller ones are not listed."


def test_the_text_tells_the_sums_and_what_is_missing() -> None:
    thread = started()
    call(thread, 100_000)
    thread.clear(0)
    call(thread, 20_000, 5_000)
    uncounted = Spending("b", "", "/", None)
    shown = summed(spending(thread, "a-thread"), uncounted, unreadable=1)
    took = (
        "2 calls, 120k tokens in (4% cached), 20 out, 1 clear, trims spared about 80k, "
        "15k read anew after them"
    )
    assert totals_text(shown).splitlines() == [
        f"1 thread: {took}",
        f"a-thread thread a-thread: {took}",
        "Threads are still being counted: 1 of 2. Ask again.",
        "1 thread cannot be read.",
    ]


def test_a_thread_without_a_name_is_shown_by_the_end_of_its_id() -> None:
    given = Spending("0123456789", "", "/", msgspec.msgpack.encode([Spent(0, "m", 1, 10)]))
    assert totals_text(summed(given)).splitlines()[1].startswith("23456789: 1 call")


@pytest.mark.parametrize(("by", "left"), [("day", "earlier"), ("folder", "smaller")])
def test_a_long_list_is_cut_in_the_text_alone(by: Grouping, left: str) -> None:
    threads = [
        Spending(f"t{n}", "", f"/{n}", msgspec.msgpack.encode([Spent(96 * n, "m", 1, 10)]))
        for n in range(LISTED + 3)
    ]
    shown = summed(*threads, by=by)
    assert len(shown.rows) == LISTED + 3
    lines = totals_text(shown).splitlines()
    assert lines[-1] == f"3 {left} ones are not listed."
    assert len(lines) == LISTED + 2
