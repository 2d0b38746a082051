"""Discards: what is removed, what is refused, and the thread's state afterwards
(docs/spec/context.md).
"""

from typing import Any

import pytest
from trimpoint.core.context.provider_compactions import COMPACTED
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.discarding import plan_compression, total_tokens
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy, Rejected
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.discards import (
    SMALL,
    active,
    at_work,
    compress,
    discard,
    entry_of,
    shown,
    took,
    work,
)
from tests.core.given import THREAD, client, started
from tests.core.items import call, decoded, message, output, ran, thought, turn


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


def test_items_of_a_turn_that_the_summary_replaced_cannot_be_discarded() -> None:
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


def test_discarding_an_entry_takes_its_whole_group() -> None:
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


def test_a_discard_records_the_trigger_that_was_given() -> None:
    thread = at_work("one", "two")
    decision = thread.do(discard("one", trigger="agent"))
    assert [
        event.trigger for event in decision.events if isinstance(event, ev.ContextDiscarded)
    ] == ["agent"]


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
def test_entries_to_discard_are_named_in_exactly_one_way(arguments: dict[str, Any]) -> None:
    thread = at_work("one", "two")
    thread.when(client(wire.DiscardContext, **arguments)).rejected(Reason.USAGE)


def test_a_busy_thread_is_left_alone() -> None:
    thread = at_work("one", "two")
    thread.begin_turn()
    assert (
        thread.when(discard("one")).rejected(Reason.TURN_IN_PROGRESS).message
        == "Cannot discard from the thread now: a turn is running. "
        "Wait for its end, or interrupt it."
    )


def test_a_discard_beside_a_sealed_summary_is_refused() -> None:
    thread = at_work("one")
    thread.compact(None)
    work(thread, "two")
    assert "Only Codex" in thread.when(discard("two")).rejected(Reason.NOT_SUPPORTED).message
    thread.when(compress(400)).rejected(Reason.NOT_SUPPORTED)
    assert isinstance(plan_compression(thread.state, None, SMALL.discard), Rejected)


def test_a_discard_from_a_context_that_codex_compacted_is_refused() -> None:
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
