"""Compactions of turns in the middle: where the summary stands, what trims, reverts and forks make
of it, what is refused, and the way back.
"""

import random
from typing import Any

import msgspec
import pytest
from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.context.context_size import estimated_size
from trimpoint.core.context.generations import bootstrap_items, conversation_items
from trimpoint.core.context.inspection import ItemClass, inspect_context
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.overflow import plan_overflow
from trimpoint.core.decide.stretch_summaries import summarized_items, summarized_tokens
from trimpoint.core.evolve.evolve import replay
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.tokens import estimate_total
from trimpoint.core.views.timeline import SUMMARIZED_LABEL, Timeline
from trimpoint.core.views.trim_outcome import called, came_back, planned_change, planned_text
from trimpoint.core.views.view import envelopes, read_model
from trimpoint.operations.history.adoption import as_it_is, inherited_history
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineMessage,
)

from tests.core.given import (
    THREAD,
    Conversation,
    client,
    compact,
    given,
    raw_message,
    started,
    texts,
)
from tests.core.pinning import act, pin
from tests.effort import tries


def requested(thread: Conversation, first: int | None, last: int | None, **more: Any) -> Operation:
    """Runs `/compact first..last` until the model summarizes."""
    thread.begin_compaction(from_turn=first, through_turn=last, **more)
    operation = thread.state.operation
    assert operation is not None
    return operation


def summarized(thread: Conversation, first: int | None, last: int | None, text: str = "S") -> None:
    operation = requested(thread, first, last)
    thread.do(internal.CompleteCompaction(operation.id, text, 1_500))
    thread.settle()


def shown(thread: Conversation) -> list[str]:
    """Returns the texts that the model is sent next, a summary as what it says."""
    found = texts(conversation_items(thread.state))
    return [text.split(">")[1].split("<")[0] if text[:2] == "<c" else text for text in found]


def of_turns(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


@pytest.mark.parametrize(
    ("first", "last", "left"),
    [
        (2, 3, [*of_turns(1), "S", *of_turns(4, 5)]),
        (3, 3, [*of_turns(1, 2), "S", *of_turns(4, 5)]),
        (None, 2, ["S", *of_turns(3, 4, 5)]),
        (4, None, [*of_turns(1, 2, 3), "S"]),
    ],
)
def test_the_summary_stands_in_the_place_of_exactly_these_turns(
    first: int | None, last: int | None, left: list[str]
) -> None:
    thread = started(turns=5)
    summarized(thread, first, last)
    assert shown(thread) == left
    assert thread.state.compaction_count == 1
    assert called(thread.state.discards[-1]) == "/compact"
    assert came_back(thread.state, thread.state.discards[-1]).endswith("in the context again")
    thread.turns(1)
    act(thread, client(wire.UndoTrim))
    assert shown(thread) == of_turns(1, 2, 3, 4, 5, 6)
    assert thread.state.compaction_count == 0
    act(thread, client(wire.UndoTrim, redo=True))
    assert shown(thread) == [*left, *of_turns(6)]
    operation = thread.state.operation
    assert operation is not None
    assert ready_message(thread.state, operation, []).startswith("Done again. Context compacted: ")
    assert thread.replayed() == thread.state


def test_it_is_summarized_as_the_model_sees_it_with_what_is_pinned() -> None:
    thread = started(turns=4)
    pin(thread, 2)
    operation = requested(thread, 2, 3, guidance=" ", model="big")
    assert texts(summarized_items(thread.state, operation)) == of_turns(2, 3)
    assert (operation.compaction_guidance, operation.compaction_model) == (None, "big")
    assert (
        0
        < summarized_tokens(thread.state, operation)
        < estimate_total(summarized_items(thread.state, operation))
    )
    thread.do(internal.CompleteCompaction(operation.id, "S", 1_500))
    thread.settle()
    assert shown(thread) == [*of_turns(1), *of_turns(2), "S", *of_turns(4)]
    assert thread.state.discards[-1].summarized_messages == 2
    assert ready_message(thread.state, operation, []).startswith(
        "Context compacted: 2 messages in the middle summarized, 2 entries of about "
    )
    refused = thread.when(client(wire.PinContext, turns=[3])).rejected(Reason.ALREADY_DISCARDED)
    assert "Turn 3" in refused.message


def test_a_trim_that_cuts_through_the_stretch_leaves_the_summary_whole() -> None:
    thread = started(turns=6)
    summarized(thread, 2, 4)
    before = shown(thread)
    thread.clear(3)
    assert shown(thread) == ["S", *of_turns(5, 6)]
    thread.clear(2)
    assert shown(thread) == of_turns(5, 6)
    act(thread, client(wire.UndoTrim))
    act(thread, client(wire.UndoTrim))
    assert shown(thread) == before
    thread.compact("all", keep=1)
    assert shown(thread) == ["all", *of_turns(6)]
    assert thread.state.generation.summarized_messages == 5


def test_a_compaction_that_keeps_a_part_of_the_stretch_keeps_its_summary_too() -> None:
    thread = started(turns=6)
    summarized(thread, 2, 4)
    assert active_message_count(thread.state) == 7
    thread.compact("all", keep=3)
    assert shown(thread) == ["all", "S", *of_turns(5, 6)]
    assert thread.state.generation.summarized_messages == 2


def test_a_revert_into_the_stretch_brings_its_turns_back_and_one_behind_it_keeps_the_summary() -> (
    None
):
    thread = started(turns=4)
    summarized(thread, 2, 3)
    thread.turns(2)
    thread.revert(turn_count=5)
    assert shown(thread) == [*of_turns(1), "S", *of_turns(4, 5)]
    thread.revert(undo=True)
    assert shown(thread) == [*of_turns(1), "S", *of_turns(4, 5, 6)]
    thread.revert(turn_count=3)
    assert shown(thread) == of_turns(1, 2, 3)
    thread.revert(undo=True)
    assert shown(thread) == [*of_turns(1), "S", *of_turns(4, 5, 6)]


def forked(thread: Conversation) -> Conversation:
    facts = inherited_history(as_it_is(thread.state), "fork")
    return given(
        ev.ThreadCreated(THREAD, "/work", "fork", b"{}"),
        ev.GenerationOpened(1, "fork", "provider", tuple(turn.id for turn in thread.state.turns)),
        ev.ProviderThreadBound(1, "codex-fork", "/rollouts/fork", True),
        ev.SessionReady(1),
        *facts,
    )


def test_a_fork_has_the_summary_and_a_revert_there_into_the_stretch_has_its_turns() -> None:
    thread = started(turns=5)
    summarized(thread, 2, 4)
    fork = forked(thread)
    assert shown(fork) == [*of_turns(1), "S", *of_turns(5)]
    fork.do(client(wire.RevertToCheckpoint, turn_count=3, scope="context"))
    fork.finish_revert()
    assert shown(fork) == of_turns(1, 2, 3)
    assert fork.state.discards == []


def test_the_xray_the_segments_and_the_size_know_the_summary() -> None:
    thread = started(turns=4)
    summarized(thread, 2, 3, "in short")
    items = inspect_context(thread.state, conversation_items(thread.state))
    assert [one.item_class for one in items][2] is ItemClass.SUMMARY
    assert [one.turn_id for one in items][1:4] == ["turn-1", "turn-2", "turn-4"]
    [segment] = [one for one in context_segments(thread.state) if one.protected == "summary"]
    assert (segment.short_id, segment.preview) == ("summary2", "in short")
    weight = sum(one.tokens for one in context_segments(thread.state))
    assert estimated_size(thread.state).used == weight


def test_the_timeline_and_the_read_model_show_the_summary_before_its_divider() -> None:
    thread = started(turns=4)
    summarized(thread, 2, 3, "in short")
    entries = list(Timeline(thread.state, frozenset()))
    banner, divider = (
        one for one in entries if not isinstance(one, TimelineMessage | TimelineActivity)
    )
    at = entries.index(banner)
    before, after = entries[at - 1], entries[at + 2]
    assert isinstance(before, TimelineMessage | TimelineActivity)
    assert isinstance(after, TimelineMessage | TimelineActivity)
    assert (before.turn_id, after.turn_id) == ("turn-3", "turn-4")
    assert isinstance(banner, ContextSummaryBanner)
    assert isinstance(divider, ContextTrimPointDivider)
    assert (banner.summary, divider.label) == ("in short", SUMMARIZED_LABEL)
    [point] = read_model(thread.state, Policy()).context_trim_points
    assert (point.summary, point.trim_kind, point.trigger) == ("in short", "discard", "compact")
    assert point.turns_before == 3
    summarized_event = [
        one.payload
        for record in thread.records
        for one in envelopes(thread.state, record)
        if one.type == "thread.stretch-summarized"
    ]
    assert [one["turnsBefore"] for one in summarized_event] == [3]


def test_an_overflow_never_parts_a_summary_from_a_pinned_turn_of_its_stretch() -> None:
    thread = started(turns=6)
    halves = (raw_message("assistant", "one " * 300), raw_message("assistant", "two " * 300))
    thread.turn("a long one", items=(raw_message("user", "a long one"), *halves))
    thread.turns(2)
    pin(thread, 7)
    summarized(thread, 1, 1)
    summarized(thread, 6, 8)
    turn_id = thread.overflow()
    plan = plan_overflow(thread.state, turn_id)
    assert plan is not None
    assert plan.first_kept_turn_id == "turn-6"
    assert texts(plan.before)[1:] == of_turns(2, 3, 4, 5)
    assert texts(plan.after)[0].startswith("<conversation-summary")
    kept = list(plan.after)
    thread.retry()
    assert conversation_items(thread.state)[1 : 1 + len(kept)] == kept


@pytest.mark.parametrize(
    ("first", "last", "more", "reason", "said"),
    [
        (2, 9, {}, Reason.TURN_NOT_FOUND, "There is no turn 9: the thread has 6 turns."),
        (6, 5, {}, Reason.USAGE, "6..5 ends before it begins."),
        (1, 4, {}, Reason.NOTHING_TO_TRIM, "Nothing was summarized: turn 1 left the context"),
        (2, 3, {}, Reason.ALREADY_DISCARDED, "a summary stands in the place of turns 3 to 4."),
        (4, 6, {}, Reason.ALREADY_DISCARDED, "a summary stands in the place of turns 3 to 4."),
        (5, 6, {"keep": 1}, Reason.USAGE, "which turns to summarize, or how many to keep"),
    ],
)
def test_a_stretch_that_is_none_or_overlaps_a_summary_changes_nothing(
    first: int, last: int, more: dict[str, Any], reason: Reason, said: str
) -> None:
    thread = started(turns=6)
    thread.clear(5)
    summarized(thread, 3, 4)
    command = compact(**{**more, "from_turn": first, "through_turn": last})
    assert said in thread.when(command).rejected(reason).message
    assert said in planned_text(thread.state, command)


def test_a_dry_run_says_what_would_be_summarized() -> None:
    thread = started(turns=4)
    command = compact(from_turn=2, through_turn=3)
    text = planned_text(thread.state, command)
    assert text.startswith("Would summarize turns 2 to 3, 4 entries of about ")
    assert planned_change(thread.state, command, Policy()).after is None


def test_it_is_not_completed_without_a_summary_nor_where_nothing_is_left_of_it() -> None:
    thread = started(turns=4)
    operation = requested(thread, 2, 3)
    for summary in (None, " "):
        done = internal.CompleteCompaction(operation.id, summary, 1_500)
        thread.when(done).rejected(Reason.COMPACTION_FAILED)
    whole = internal.CompleteCompaction(operation.id, "S", 1_500)
    thread.when(internal.CompleteCompaction("other", "S", 1)).rejected(Reason.INTERNAL)
    for turn_id in ("turn-2", "turn-3"):
        thread.report(ev.ContextPinned(THREAD, turn_id, turn_id))
    assert summarized_tokens(thread.state, operation) == 0
    thread.when(whole).rejected(Reason.COMPACTION_FAILED)


def test_a_record_without_its_operation_changes_no_operation() -> None:
    thread = started(turns=1)
    thread.state.operation = None
    thread.write(ev.StretchCompactionRequested("gone", 1, 1))
    assert thread.state.operation is None


class Plain:
    """A plain model: the turns, and for each stretch its ends and its text."""

    def __init__(self) -> None:
        self.count = 0
        self.begins = 1
        self.stretches: list[tuple[int, int, str | None]] = []

    def shown(self) -> list[str]:
        found: list[str] = []
        for number in range(self.begins, self.count + 1):
            inside = [one for one in self.stretches if one[0] <= number <= one[1]]
            if not inside:
                found += of_turns(number)
            for first, _, text in inside:
                if text is not None and number == max(first, self.begins):
                    found.append(text)
        return found


@pytest.mark.parametrize("seed", range(tries(20)))
def test_random_stretches_clears_and_undos_are_as_a_plain_model_has_them(seed: int) -> None:
    chance, thread, plain = random.Random(seed), started(), Plain()
    past: list[tuple[int, list[tuple[int, int, str | None]]]] = []
    for step in range(40):
        what = chance.choice(("turn", "turn", "turn", "compact", "clear", "keep", "undo"))
        first = chance.randint(plain.begins, max(plain.begins, plain.count))
        last = chance.randint(first, max(first, plain.count))
        is_free = all(last < a or first > b for a, b, _ in plain.stretches) and last <= plain.count
        is_free = is_free and all(turn.items for turn in thread.state.turns[first - 1 : last])
        if what == "turn":
            thread.turns(1)
            plain.count += 1
        elif what in ("compact", "clear") and is_free:
            past.append((plain.begins, [*plain.stretches]))
            text = f"gist {step}" if what == "compact" else None
            if text is not None:
                summarized(thread, first, last, text)
            else:
                act(thread, client(wire.TrimContext, from_turn=first, through_turn=last))
            plain.stretches.append((first, last, text))
        elif what == "keep" and plain.count - plain.begins > 1:
            past.append((plain.begins, [*plain.stretches]))
            keep = chance.randint(1, plain.count - plain.begins)
            thread.clear(keep)
            plain.begins = plain.count - keep + 1
        elif what == "undo" and past:
            act(thread, client(wire.UndoTrim))
            plain.begins, plain.stretches = past.pop()
        assert shown(thread) == plain.shown(), (seed, step, what)
        items = bootstrap_items(thread.state, thread.state.generation)
        assert all(item in conversation_items(thread.state) for item in items)
    assert replay(thread.records) == thread.state
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(thread.state), type=ThreadState)
    operation = thread.state.operation
    assert operation is None or operation.phase is not Phase.COMPACTING
