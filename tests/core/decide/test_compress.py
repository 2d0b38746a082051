"""The segments that `/compress` chooses, and how they are shown."""

from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.discarding import (
    CompressionPlan,
    nothing_to_discard,
    plan_compression,
    total_tokens,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.views.compression_text import (
    RefusedCompression,
    RehearsedCompression,
    compression_preview,
    preview_text,
    rehearsed,
    remaining_text,
)
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.view import read_model
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineActivity, TimelineMessage

from tests.core.discards import SMALL, active, at_work, compress, shown, took, work
from tests.core.given import Conversation, started
from tests.core.items import call, changed, decoded, output, ran, turn

FREE = Policy(discard=DiscardPolicy(floor_tokens=0, target_tokens=400))


def library() -> Conversation:
    """Returns a thread with one of each segment that `/compress` takes, the largest first."""
    thread = at_work()
    read = (call("r", "cat a"), output("r", "read " * 200), ran("", "r", "cat a", ["read"]))
    ran_once = (call("c", "find ."), output("c", "found " * 200), ran("", "c", "find ."))
    checked = (call("t", "pytest"), output("t", "passed " * 200), ran("", "t", "pytest"))
    listed = (call("g", name="get_messages"), output("g", "listed " * 200))
    titled = (call("n", name="generate_title"), output("n", "a title"))
    edited = (call("p", name="apply_patch"), output("p", "ok"), changed("", "p"))
    turn(
        thread,
        "one?",
        "one!",
        checked,
        ran_once,
        read,
        titled,
        listed,
        edited,
        (call("l", name="lookup"), output("l", "x " * 100)),
    )
    work(thread, "two", "read")
    return thread


def chosen(thread: Conversation, target: int) -> list[str]:
    plan = plan_compression(thread.state, target, DiscardPolicy(50, 400))
    assert isinstance(plan, CompressionPlan)
    return [unit.preview.partition(" {")[0] for unit in plan.chosen]


def test_compress_takes_the_classes_in_their_order_until_the_target() -> None:
    thread = library()
    costs = {
        unit.preview.partition(" {")[0]: unit.tokens for unit in context_segments(thread.state)
    }
    total = sum(costs.values())
    order = ["get_messages", "cat a", "find .", "pytest", "generate_title", "one?"]
    assert chosen(thread, total) == []
    assert chosen(thread, total - 1) == order[:1]
    assert chosen(thread, total - costs["get_messages"] - costs["cat a"] - 1) == order[:3]
    assert chosen(thread, 50) == order


def test_compress_leaves_the_newest_turn_and_what_it_cannot_place_alone() -> None:
    thread = library()
    assert not {"cat two", "lookup", "one!"} & set(chosen(thread, 50))


def test_compress_skips_what_would_cross_the_floor_and_takes_what_is_smaller() -> None:
    thread = library()
    total = total_tokens(context_segments(thread.state))
    policy = DiscardPolicy(total - 100, total - 50)
    plan = plan_compression(thread.state, None, policy)
    assert isinstance(plan, CompressionPlan)
    assert [unit.preview for unit in plan.chosen] == ['generate_title {"cmd":"ls"}', "one?"]
    assert (plan.is_enough, plan.left_tokens >= policy.floor_tokens) == (False, True)


def test_compress_is_one_decision_and_says_what_it_was() -> None:
    thread = library()
    wanted = chosen(thread, 600)
    decision = thread.do(compress(600))
    [event] = [event for event in decision.events if isinstance(event, ev.ContextDiscarded)]
    assert (event.trigger, len(event.entry_ids)) == ("compress", len(wanted))


def test_compress_does_nothing_where_there_is_nothing_to_do() -> None:
    thread = at_work("one", "two")
    assert (
        "no more than the target of 9,000."
        in thread.when(compress(9_000)).rejected(Reason.NOTHING_TO_TRIM).message
    )
    thread = started(policy=SMALL)
    thread.turn("x " * 2_000)
    assert (
        "but none of it may be discarded alone."
        in thread.when(compress(60)).rejected(Reason.NOTHING_TO_TRIM).message
    )
    assert "Below 50 tokens" in thread.when(compress(49)).rejected(Reason.USAGE).message


def test_a_plan_is_shown_by_class() -> None:
    thread = library()
    plan = plan_compression(thread.state, 50, SMALL.discard)
    assert isinstance(plan, CompressionPlan)
    shown = compression_preview(plan)
    assert [(one.kind, one.count) for one in shown.classes] == [
        ("contextTool", 1), ("fileRead", 1), ("command", 1), ("check", 1), ("title", 1), ("message", 1),
    ]  # fmt: skip
    assert (
        sum(one.est_tokens for one in shown.classes)
        == shown.total_est_tokens - shown.left_est_tokens
    )
    text = preview_text(plan)
    assert "\n  quick checks: 1, about " in text
    assert text.endswith("the rest is protected, or goes only when it is named.")
    enough = plan_compression(thread.state, 10_000, SMALL.discard)
    assert isinstance(enough, CompressionPlan)
    assert nothing_to_discard(enough).said.startswith("Nothing to discard")
    assert (
        remaining_text(400, 400)
        == "About 400 tokens of the conversation are left, within the target of 400."
    )


def test_a_rehearsal_shows_the_plan_and_what_becomes_of_the_context() -> None:
    thread = library()
    plan = plan_compression(thread.state, 50, SMALL.discard)
    assert isinstance(plan, CompressionPlan)
    found = rehearsed(thread.state, 50, thread.policy, only_discard=False)
    assert isinstance(found, RehearsedCompression)
    assert (found.preview, found.text) == (compression_preview(plan), preview_text(plan))
    assert found.change.before - (found.change.after or 0) == plan.freed_tokens


def test_a_rehearsal_that_would_discard_nothing_shows_the_plan_and_says_why() -> None:
    thread = library()
    found = rehearsed(thread.state, 10_000, thread.policy, only_discard=False)
    assert isinstance(found, RefusedCompression)
    assert (found.preview.entry_ids, found.preview.target_tokens) == ([], 10_000)
    assert found.refusal.reason is Reason.NOTHING_TO_TRIM


def test_a_rehearsal_masks_what_it_may() -> None:
    thread = at_work(*"abcdefg", policy=FREE)
    target = total_tokens(context_segments(thread.state)) - 150
    masked = rehearsed(thread.state, target, FREE, only_discard=False)
    discarded = rehearsed(thread.state, target, FREE, only_discard=True)
    assert isinstance(masked, RehearsedCompression)
    assert isinstance(discarded, RehearsedCompression)
    assert (masked.preview.entry_ids, discarded.preview.masked_entry_ids) == ([], [])


def timeline(thread: Conversation, *expanded: str) -> list[str]:
    lines: list[str] = []
    for entry in Timeline(thread.state, frozenset(expanded)):
        match entry:
            case TimelineMessage() | TimelineActivity():
                text = (
                    entry.text
                    if isinstance(entry, TimelineMessage)
                    else entry.title.removeprefix("/bin/bash -lc ")
                )
                lines.append(f"({text})" if entry.trimmed else text)
            case ContextTrimPointDivider():
                lines.append(f"-- {entry.trim_kind} {entry.hidden_message_count}")
            case _:
                lines.append("banner")
    return lines


def test_the_timeline_keeps_discarded_entries_in_place_and_puts_the_divider_at_the_discard() -> (
    None
):
    thread = at_work("one", "two")
    event = took(thread, "cat one", "one?")
    work(thread, "three")
    assert timeline(thread) == [
        "(one?)", "('cat one')", "one!", "two?", "'cat two'", "two!", "-- discard 2", "three?", "'cat three'", "three!",
    ]  # fmt: skip
    assert {entry.trim_point_id for entry in shown(thread)} == {None, event.trim_point_id}


def test_discards_and_trims_stand_each_at_their_place() -> None:
    thread = at_work("one", "two")
    took(thread, "cat one")
    work(thread, "three")
    trim = thread.clear(2)
    took(thread, "cat two")
    assert timeline(thread) == [
        "-- boundary 2", "two?", "('cat two')", "two!", "-- discard 1", "three?", "'cat three'", "three!", "-- discard 1",
    ]  # fmt: skip
    opened = timeline(thread, trim)
    assert opened[:4] == ["(one?)", "('cat one')", "(one!)", "-- boundary 2"]
    cleared = thread.clear()
    assert timeline(thread) == ["-- boundary 2", "-- boundary 4"]
    assert timeline(thread, cleared)[-3:] == ["(three!)", "-- discard 1", "-- boundary 4"]


def test_a_later_trim_counts_only_what_was_still_there() -> None:
    thread = at_work("one", "two", "three")
    took(thread, "cat one", "one?")
    assert read_model(thread.state, SMALL).active_message_count == 5
    assert read_model(thread.state, SMALL).message_count == 6
    thread.clear(1)
    assert thread.state.trim_points[-1].pruned_message_count == 3
    assert read_model(thread.state, SMALL).active_message_count == 2


def test_a_summary_counts_what_it_stands_for() -> None:
    thread = at_work("one", "two")
    took(thread, "one?")
    thread.compact("in short")
    assert thread.state.generation.summarized_messages == 3


def test_the_read_model_tells_of_it_among_the_trim_points() -> None:
    thread = at_work("one", "two", "three")
    first = thread.clear(2)
    event = took(thread, "cat two", "two?")
    second = thread.clear(1)
    points = read_model(thread.state, SMALL).context_trim_points
    assert [(point.id, point.trim_kind) for point in points] == [
        (first, "boundary"), (event.trim_point_id, "discard"), (second, "boundary"),
    ]  # fmt: skip
    told = points[1]
    assert (told.pruned_message_count, told.pruned_turn_ids, told.first_kept_turn_id) == (
        1,
        [],
        None,
    )
    assert (told.before_entry_id, told.discarded_entry_ids, told.est_tokens) == (
        "msg_turn-3", list(event.entry_ids), event.est_tokens,
    )  # fmt: skip
    assert (told.status, told.trigger) == ("applied", "discard")


def test_an_entry_that_comes_late_moves_the_divider_with_it() -> None:
    thread = at_work("one", "two")
    took(thread, "cat one")
    thread.report(ran("turn-1", "late", "late"), ran("turn-2", "later", "later"))
    work(thread, "three")
    thread.report(ran("turn-2", "latest", "latest"), ran("turn-3", "last", "last"))
    lines = timeline(thread)
    at = lines.index("-- discard 1")
    assert lines[3] == "'late'"
    assert lines[at - 2 : at + 2] == ["'later'", "'latest'", "-- discard 1", "three?"]
    assert thread.replayed() == thread.state


def test_a_lost_session_is_rebuilt_without_what_was_discarded() -> None:
    thread = at_work("one", "two")
    took(thread, "cat one")
    thread.report(ev.GenerationOpened(3, "resume", "turns", ("turn-1", "turn-2")))
    assert not any(b"cat one" in item for item in active(thread.state))


def test_a_turn_whose_items_are_lost_is_rebuilt_without_the_messages_that_were_discarded() -> None:
    thread = at_work("one", "two")
    took(thread, "one?")
    for one in thread.state.turns:
        one.items = []
    assert [item["content"][0]["text"] for item in decoded(active(thread.state))] == [
        "one!",
        "two?",
        "two!",
    ]
