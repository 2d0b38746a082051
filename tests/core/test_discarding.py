"""Selective discarding: what goes, what is refused, and what the thread is afterwards
(docs/spec/context.md).
"""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from trimpoint.core.context.active_context import injectable
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.context.provider_compactions import COMPACTED
from trimpoint.core.context.segments import ContextSegment, context_segments
from trimpoint.core.decide.discarding import CompressionPlan, plan_compression, total_tokens
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, DiscardPolicy, Policy, Rejected
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint.core.views.compression_text import compression_preview, preview_text, remaining_text
from trimpoint.core.views.timeline import derive_timeline_entries
from trimpoint.core.views.view import read_model
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineActivity, TimelineMessage

from tests.core.given import THREAD, Conversation, client, started
from tests.core.items import call, changed, decoded, message, output, ran, thought, turn

SMALL = Policy(discard=DiscardPolicy(floor_tokens=50, target_tokens=400))


def at_work(*words: str, policy: Policy = SMALL) -> Conversation:
    """A turn for each word: a prompt, a long command output and an answer."""
    thread = started(policy=policy)
    for word in words:
        work(thread, word)
    return thread


def work(thread: Conversation, word: str, actions: str = "unknown") -> str:
    step = (
        thought(f"rs_{word}"),
        call(word, f"cat {word}"),
        output(word, f"{word} " * 100),
        ran("", word, f"cat {word}", [actions]),
    )
    return turn(thread, f"{word}?", f"{word}!", step)


def discard(*entry_ids: str, **arguments: Any) -> Any:
    return client(wire.DiscardContext, entry_ids=list(entry_ids) or None, **arguments)


def compress(target: int) -> Any:
    return client(wire.DiscardContext, target_tokens=target)


def entry_of(state: ThreadState, shown: str) -> str:
    [unit] = [unit for unit in context_segments(state) if unit.preview == shown]
    return unit.entry_ids[0]


def active(state: ThreadState) -> list[bytes]:
    """What the generation is given when its session is prepared anew."""
    return bootstrap_items(state, state.generation)


def took(thread: Conversation, *shown: str) -> ev.ContextDiscarded:
    decision = thread.do(discard(*(entry_of(thread.state, one) for one in shown)))
    thread.settle()
    [event] = [event for event in decision.events if isinstance(event, ev.ContextDiscarded)]
    return event


# -- what is done
# ------------------------------------------------------------------------------------------


def test_a_discard_opens_a_generation_with_what_is_left() -> None:
    thread = at_work("one", "two")
    before = [item for one in thread.state.turns for item in one.items]
    thread.when(discard("one")).then(
        ev.OperationStarted("id-11", "discard"),
        ev.ContextDiscarded(
            THREAD,
            "id-11",
            thread.now_ms,
            ("one",),
            (("turn-1", (1, 2, 3)),),
            2,
            "discard",
            sum(map(estimate_tokens, before[1:4])),
        ),
        ev.GenerationOpened(2, "discard", "turns", ("turn-1", "turn-2")),
        ev.SessionStopRequested(1),
        ev.SessionStartRequested(2),
    )
    took(thread, "cat one")
    assert active(thread.state) == [before[0], *before[4:]]
    assert thread.replayed() == thread.state


def test_the_summary_in_the_context_stays_in_it() -> None:
    thread = at_work("one")
    thread.compact("in short")
    work(thread, "two")
    work(thread, "three")
    took(thread, "cat two")
    opened = thread.state.generation
    assert (opened.bootstrap, opened.summary, opened.summarized_messages, opened.turn_ids) == (
        "summary",
        "in short",
        2,
        ("turn-2", "turn-3"),
    )
    assert "in short" in active(thread.state)[0].decode()


def test_a_fork_keeps_the_summary_that_it_has_from_its_parent() -> None:
    thread = started(policy=SMALL)
    for word in ("one", "two", "three"):
        work(thread, word)
    # As a fork is told of its parent's past: Codex holds the context, the trim points come with it.
    thread.write(
        ev.TrimPointCreated(THREAD, "p", 0, None, 2, ("turn-1",), "turn-2", 1, "compact"),
        ev.ContextSummarized(THREAD, "p", "in short", 0),
    )
    thread.write(
        ev.GenerationOpened(2, "resume", "provider"),
        ev.ProviderThreadBound(2, "fork"),
        ev.SessionReady(2),
    )
    assert context_segments(thread.state)[0].preview == "in short"
    took(thread, "cat two")
    assert (thread.state.generation.summary, thread.state.generation.summarized_messages) == (
        "in short",
        2,
    )


def test_nothing_of_a_turn_that_the_summary_stands_for_can_be_discarded_from_it() -> None:
    thread = at_work("one", "two", policy=Policy(discard=DiscardPolicy(10, 400)))
    thread.write(
        ev.GenerationOpened(2, "overflow", "summary", ("turn-1", "turn-2"), "in short", 1, 4)
    )
    assert [unit.preview for unit in context_segments(thread.state)][:3] == [
        "in short",
        "one!",
        "two?",
    ]
    thread.write(
        ev.ProviderThreadBound(2, "codex"),
        ev.SessionReady(2),
        ev.EntryRecorded("turn-2", "o", "activity", "contextCompaction", COMPACTED),
    )
    took(thread, "cat two")
    assert thread.state.generation.skipped_items == 4
    assert [item.get("call_id") for item in decoded(active(thread.state))[1:]] == [None, None, None]


def test_more_is_discarded_beside_what_was_discarded_before() -> None:
    thread = at_work("one", "two", "three")
    took(thread, "cat one")
    took(thread, "cat two", "one?")
    kept = [
        item.get("call_id")
        for item in decoded(active(thread.state))
        if item["type"] == "function_call"
    ]
    assert kept == ["three"]
    assert [len(one.entry_ids) for one in thread.state.discards] == [1, 2]


def test_one_entry_takes_all_that_belongs_to_it() -> None:
    thread = at_work()
    step = (
        thought(),
        message("assistant", "I look", id="m"),
        call("a"),
        output("a", "long " * 200),
        ran("", "a"),
    )
    turn(
        thread, "one?", "one!", (*step, ev.EntryRecorded("", "m", "message", "assistant", "I look"))
    )
    work(thread, "two")
    decision = thread.do(discard("m"))
    [event] = [event for event in decision.events if isinstance(event, ev.ContextDiscarded)]
    assert (event.entry_ids, event.items) == (("a", "m"), (("turn-1", (1, 2, 3, 4)),))


def test_an_id_that_was_given_out_twice_is_known_by_its_turn_and_only_one_goes() -> None:
    thread = at_work()
    for word in ("one", "two", "three"):
        turn(
            thread,
            f"{word}?",
            f"{word}!",
            (call("c", word), output("c", f"{word} " * 100), ran("", "c", word)),
        )
    thread.when(discard("c")).rejected(Reason.ENTRY_NOT_FOUND)
    thread.do(discard("turn-2#c"))
    thread.settle()
    calls = [
        item["arguments"]
        for item in decoded(active(thread.state))
        if item["type"] == "function_call"
    ]
    assert calls == ['{"cmd":"one"}', '{"cmd":"three"}']
    flagged = [(entry.turn_id, entry.id) for entry in shown(thread) if entry.trimmed]
    assert flagged == [("turn-2", "c")]
    thread.when(discard("turn-2#c")).rejected(Reason.ALREADY_DISCARDED)
    # The only one left of its name is known by the id alone, and by its turn all the same.
    work(thread, "four")
    took(thread, "one")
    thread.when(discard("c", "turn-3#c")).then(*thread.when(discard("c")).decision[0])


def test_whoever_asks_may_say_why() -> None:
    thread = at_work("one", "two")
    decision = thread.do(discard("one", trigger="agent"))
    assert [
        event.trigger for event in decision.events if isinstance(event, ev.ContextDiscarded)
    ] == ["agent"]


# -- what is refused
# ---------------------------------------------------------------------------------------


def test_a_refusal_says_what_it_is_about() -> None:
    thread = at_work("one", "two", "three")
    took(thread, "cat one")
    answer, prompt = entry_of(thread.state, "one!"), entry_of(thread.state, "three?")
    refused = thread.when(discard("two", answer, prompt)).rejected(Reason.ENTRY_PROTECTED)
    assert refused.message == (
        f"Nothing was discarded, because some of it is protected: {answer} is a final answer; "
        f"{prompt} belongs to the newest prompt and its answer."
    )
    refused = thread.when(discard("two", "nothing", "less")).rejected(Reason.ENTRY_NOT_FOUND)
    assert refused.message == (
        "Nothing was discarded: the context holds no nothing, less; context/messages/list says what there is."
    )
    refused = thread.when(discard("two", "one")).rejected(Reason.ALREADY_DISCARDED)
    assert refused.message == "Nothing was discarded: one is out of the context already."
    many = [f"id{number}" for number in range(7)]
    assert (
        "id0, id1, id2, id3, id4 and 2 others;"
        in thread.when(discard(*many)).rejected(Reason.ENTRY_NOT_FOUND).message
    )


def test_the_floor_is_never_crossed() -> None:
    thread = at_work("one", "two", policy=Policy(discard=DiscardPolicy(100, 400)))
    total = total_tokens(context_segments(thread.state))
    refused = thread.when(discard("one", "two")).rejected(Reason.BELOW_FLOOR)
    assert (
        f"of {total:,} tokens would be left without one, two, less than the floor of 100."
        in refused.message
    )
    thread.do(discard("one"))


@pytest.mark.parametrize("arguments", [{}, {"entry_ids": ["one"], "target_tokens": 400}])
def test_what_to_discard_is_said_in_one_way(arguments: dict[str, Any]) -> None:
    thread = at_work("one", "two")
    thread.when(client(wire.DiscardContext, **arguments)).rejected(Reason.USAGE)


def test_a_busy_thread_is_left_alone() -> None:
    thread = at_work("one", "two")
    thread.begin_turn()
    assert (
        thread.when(discard("one")).rejected(Reason.TURN_IN_PROGRESS).message
        == "Cannot discard from the thread now: a turn is running."
    )


def test_nothing_is_taken_out_beside_a_summary_that_only_codex_can_read() -> None:
    thread = at_work("one")
    thread.compact(None)
    work(thread, "two")
    assert "Only Codex" in thread.when(discard("two")).rejected(Reason.NOT_SUPPORTED).message
    thread.when(compress(400)).rejected(Reason.NOT_SUPPORTED)
    assert isinstance(plan_compression(thread.state, None, SMALL.discard), Rejected)


def test_nothing_is_taken_out_of_what_codex_compacted_by_itself() -> None:
    thread = at_work("one")
    turn(
        thread, "two?", "two!", (ev.EntryRecorded("", "cc", "activity", "contextCompaction", "…"),)
    )
    assert (
        "Codex has compacted" in thread.when(discard("one")).rejected(Reason.NOT_SUPPORTED).message
    )
    thread.clear(1)
    work(thread, "three")
    work(thread, "four")
    took(thread, "cat three")  # the new session was given what the ledger has


# -- /compress
# ---------------------------------------------------------------------------------------------


def library() -> Conversation:
    """One of everything that `/compress` takes, the dearest first."""
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
    assert preview_text(enough).startswith("Nothing to discard")
    assert (
        remaining_text(400, 400)
        == "About 400 tokens of the conversation are left, within the target of 400."
    )


# -- what the thread is afterwards
# -------------------------------------------------------------------------


def shown(thread: Conversation, *expanded: str) -> list[TimelineMessage | TimelineActivity]:
    entries = derive_timeline_entries(thread.state, frozenset(expanded))
    return [entry for entry in entries if isinstance(entry, TimelineMessage | TimelineActivity)]


def timeline(thread: Conversation, *expanded: str) -> list[str]:
    lines: list[str] = []
    for entry in derive_timeline_entries(thread.state, frozenset(expanded)):
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


def test_what_was_discarded_stays_where_it_was_said_and_the_divider_where_it_was_done() -> None:
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


# -- any life
# ----------------------------------------------------------------------------------------------

UNANSWERED = "never answered"
STEPS = ("message", "thought", "call", "change", "two calls", "unfinished", "reused id")


def build(thread: Conversation, steps: list[str], seed: int) -> None:
    parts: list[Any] = []
    for number, step in enumerate(steps):
        name = f"{seed}.{number}"
        match step:
            case "message":
                parts.append(message("assistant", f"on the way {name}", id=f"m{name}"))
            case "thought":
                parts.append(thought(f"rs{name}"))
            case "call":
                parts.append((call(name), output(name, f"{name} " * 60), ran("", name)))
            case "change":
                parts.append((call(name, name="apply_patch"), output(name), changed("", name)))
            case "two calls":
                parts.append(
                    (
                        call(name),
                        call(f"{name}b"),
                        output(name, "x " * 80),
                        output(f"{name}b"),
                        ran("", name),
                        ran("", f"{name}b"),
                    )
                )
            case "unfinished":
                parts.append(call(name + UNANSWERED))
            case _:
                parts.append((call("call_0"), output("call_0", "y " * 50), ran("", "call_0")))
    turn(thread, f"prompt {seed}", f"answer {seed}", *parts)


def stand_alone(items: list[bytes]) -> bool:
    """Each result has its call, and each call its result but those that never had one."""
    seen = decoded(items)
    calls = Counter(item["call_id"] for item in seen if item["type"] == "function_call")
    outputs = Counter(item["call_id"] for item in seen if item["type"] == "function_call_output")
    return (
        all(UNANSWERED in name for name in calls - outputs)
        and not outputs - calls
        and injectable(items) == items
    )


histories = st.lists(st.lists(st.sampled_from(STEPS), max_size=6), min_size=1, max_size=5)


@settings(deadline=None)
@drawn(histories, st.lists(st.integers(0, 10_000), max_size=6), st.integers(1, 400))
def test_whatever_is_discarded_pairs_stay_together_the_floor_holds_and_ids_mean_the_same(
    history: list[list[str]], picks: list[int], floor: int
) -> None:
    thread = started(policy=Policy(discard=DiscardPolicy(floor, max(floor, 400))))
    for seed, steps in enumerate(history):
        build(thread, steps, seed)
    for pick in picks:
        before = {unit.short_id: unit for unit in context_segments(thread.state)}
        unit = list(before.values())[pick % len(before)]
        decision = thread.when(discard(unit.entry_ids[0])).decision
        if isinstance(decision, Rejected):
            assert decision.reason in (Reason.ENTRY_PROTECTED, Reason.BELOW_FLOOR)
            continue
        thread.do(discard(unit.entry_ids[0]))
        thread.settle()
        after = {one.short_id: one for one in context_segments(thread.state)}
        check(thread, before, after, unit, floor)


def check(
    thread: Conversation,
    before: dict[str, ContextSegment],
    after: dict[str, ContextSegment],
    unit: ContextSegment,
    floor: int,
) -> None:
    assert unit.protected is None
    assert before.keys() - {unit.short_id} == after.keys()
    assert all(after[name].positions == before[name].positions for name in after)
    assert total_tokens(after.values()) >= floor
    assert stand_alone(active(thread.state))
    assert total_tokens(after.values()) == sum(map(estimate_tokens, active(thread.state)))
    assert thread.replayed() == thread.state


@settings(deadline=None)
@drawn(histories, st.integers(1, 2_000), st.integers(1, 2_000))
def test_compress_never_takes_what_is_protected_and_never_too_much(
    history: list[list[str]], floor: int, above: int
) -> None:
    thread = started(policy=Policy(discard=DiscardPolicy(floor, floor + above)))
    for seed, steps in enumerate(history):
        build(thread, steps, seed)
    units = {unit.entry_ids: unit for unit in context_segments(thread.state)}
    decision = thread.when(compress(floor + above)).decision
    if isinstance(decision, Accepted):
        thread.do(compress(floor + above))
        thread.settle()
        left = {unit.entry_ids: unit for unit in context_segments(thread.state)}
        assert all(units[name].protected is None for name in units.keys() - left.keys())
        assert total_tokens(left.values()) >= floor
        assert stand_alone(active(thread.state))
