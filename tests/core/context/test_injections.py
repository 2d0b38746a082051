"""What is injected while no turn stands in the context lies before the next turn, and leaves it by
a trim that keeps only turns behind it.
"""

from trimpoint.core.context.context_size import context_size, opened_tokens, overhead_tokens
from trimpoint.core.context.generations import (
    conversation_items,
    items_beside,
    reopened_generation,
)
from trimpoint.core.context.injections import injection
from trimpoint.core.context.inspection import inspect_context
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.overflow import plan_overflow
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import RollBackTurns
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens
from trimpoint.core.views.trim_outcome import came_back, planned_change, planned_text
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, compact, raw_message, started, texts, trim
from tests.core.pinning import act, said


def inject(thread: Conversation, *words: str, role: str = "user") -> None:
    thread.report(*injection(thread.state, [raw_message(role, word) for word in words]))


def shown(thread: Conversation) -> list[str]:
    assert thread.replayed() == thread.state
    return texts(conversation_items(thread.state))


def undo(thread: Conversation, **arguments: object) -> None:
    act(thread, client(wire.UndoTrim, **arguments))


def test_nothing_is_recorded_of_an_empty_injection() -> None:
    assert injection(started().state, []) == ()


def test_behind_a_turn_it_belongs_to_the_turn() -> None:
    thread = started(turns=1)
    inject(thread, "behind")
    assert thread.state.turns[0].injected == 1
    assert thread.state.injected_before_next == []
    running = thread.begin_turn()
    inject(thread, "meanwhile")
    assert thread.state.turns[thread.state.turn_index[running]].injected == 0


def test_without_a_turn_it_lies_before_the_next_one_and_is_none_of_its_items() -> None:
    thread = started()
    inject(thread, "one", "two")
    inject(thread, "three")
    assert shown(thread) == ["one", "two", "three"]
    thread.turn()
    assert shown(thread) == ["one", "two", "three", *said(1)]
    assert texts(thread.state.turns[0].items) == said(1)
    assert thread.state.injected_before_next == []


def test_a_clear_prunes_what_lies_before_the_first_kept_turn_and_an_undo_brings_it_back() -> None:
    thread = started()
    inject(thread, "first")
    thread.turns(2)
    thread.when(trim(2)).rejected(Reason.NOTHING_TO_TRIM)
    thread.clear(1)
    assert shown(thread) == said(2)
    undo(thread)
    assert shown(thread) == ["first", *said(1, 2)]
    undo(thread, redo=True)
    assert shown(thread) == said(2)


def test_a_clear_of_injected_items_alone_says_what_left_the_context_and_what_comes_back() -> None:
    thread = started()
    inject(thread, "first")
    thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM)
    assert planned_text(thread.state, trim()) == "Would clear what the context begins with."
    thread.clear()
    assert shown(thread) == []
    operation = thread.state.operation
    assert operation is not None
    assert ready_message(thread.state, operation, []).startswith(
        "Context cleared: what was injected left it, nothing kept."
    )
    assert (
        came_back(thread.state, thread.state.trim_points[-1])
        == "what was injected is in the context again"
    )
    inject(thread, "second")
    assert shown(thread) == ["second"]
    thread.turn()
    undo(thread)
    assert shown(thread) == ["first", "second", *said(1)]


def test_what_was_injected_behind_a_clear_stays_behind_the_turns_that_an_undo_brings_back() -> None:
    thread = started(turns=1)
    thread.clear()
    inject(thread, "behind")
    undo(thread)
    inject(thread, "more")
    assert shown(thread) == [*said(1), "behind", "more"]
    thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM)
    assert texts(items_beside(thread.state, 1)) == [*said(1), "behind", "more"]
    change = planned_change(thread.state, trim(), Policy())
    assert change.after == 0


def test_injected_items_alone_are_compacted() -> None:
    thread = started()
    thread.when(compact(force=True)).rejected(Reason.NOT_ENOUGH_MESSAGES)
    inject(thread, "one", "two")
    thread.when(compact()).rejected(Reason.NOT_ENOUGH_MESSAGES)
    thread.compact("in short")
    assert shown(thread) == ["<conversation-summary messages=2>in short</conversation-summary>"]
    operation = thread.state.operation
    assert operation is not None
    assert ready_message(thread.state, operation, []).startswith(
        "Context compacted: what was injected is summarized."
    )
    undo(thread)
    assert shown(thread) == ["one", "two"]


def test_kept_turns_stand_beside_a_summary_without_what_was_injected_before_them() -> None:
    thread = started()
    inject(thread, "first")
    thread.turns(2)
    assert texts(items_beside(thread.state, 2)) == ["first", *said(1, 2)]
    thread.clear()
    inject(thread, "second")
    thread.turn()
    undo(thread)
    assert texts(items_beside(thread.state, 1)) == said(3)


def test_a_revert_to_before_the_first_turn_keeps_what_was_there_when_it_began() -> None:
    thread = started()
    inject(thread, "pruned")
    thread.clear()
    inject(thread, "first")
    thread.turn()
    thread.clear()
    inject(thread, "later")
    thread.turn()
    thread.revert(turn_count=0)
    assert shown(thread) == ["first"]
    inject(thread, "since")
    thread.revert(undo=True)
    assert shown(thread) == ["later", *said(2)]


def test_a_revert_to_a_turn_takes_out_what_was_injected_since() -> None:
    thread = started(turns=1)
    thread.clear()
    inject(thread, "later")
    undo(thread)
    thread.revert(turn_count=1)
    assert shown(thread) == said(1)
    thread.revert(undo=True)
    assert shown(thread) == [*said(1), "later"]


def test_a_native_revert_keeps_what_was_injected_before_the_turn_that_goes() -> None:
    thread = started()
    inject(thread, "first")
    turn_id = thread.turn()
    thread.do(RollBackTurns(turn_id, provider_did=True))
    assert shown(thread) == ["first"]
    inject(thread, "second")
    turn_id = thread.turn()
    thread.clear()
    thread.do(RollBackTurns(turn_id, provider_did=False))
    thread.settle()
    assert shown(thread) == ["first", "second"]


def test_a_pinned_turn_is_carried_without_what_was_injected_before_it() -> None:
    thread = started()
    inject(thread, "first")
    thread.turns(2)
    act(thread, client(wire.PinContext, turns=[1]))
    assert shown(thread) == ["first", *said(1, 2)]
    thread.clear(1)
    assert shown(thread) == said(1, 2)


def test_each_item_is_a_segment_that_stays_and_is_found_in_what_the_model_is_sent() -> None:
    thread = started()
    inject(thread, "first")
    inject(thread, "answer", role="assistant")
    [first, second] = context_segments(thread.state)
    assert [(one.short_id, one.role, one.protected) for one in (first, second)] == [
        ("i1", "user", "injected"),
        ("i2", "assistant", "injected"),
    ]
    thread.turn()
    refused = thread.when(client(wire.DiscardContext, entry_ids=[first.entry_ids[0]]))
    assert "was injected" in refused.rejected(Reason.ENTRY_PROTECTED).message
    sent = conversation_items(thread.state)
    seen = inspect_context(thread.state, sent)
    assert [one.short_id for one in seen] == ["i1", "i2", "m1.1", "m1.2"]
    assert [one.tokens for one in seen] == [estimate_tokens(item) for item in sent]


def test_the_meter_counts_them() -> None:
    thread = started()
    inject(thread, "first")
    weight = sum(map(estimate_tokens, conversation_items(thread.state)))
    assert context_size(thread.state, Policy()).used == weight > 0
    turn_id = thread.begin_turn("?")
    reported = ev.UsageReported(turn_id, 1_000, 1_000, 10_000, 990)
    thread.report(reported, ev.TurnCompleted(turn_id, "completed"))
    prompt = estimate_text_tokens("?")
    assert overhead_tokens(thread.state) == 990 - weight - prompt
    opened = reopened_generation(thread.state, "resume")
    prompt_item = estimate_tokens(raw_message("user", "?"))
    assert opened_tokens(thread.state, opened) == 990 - prompt + prompt_item


def test_an_overflow_cuts_between_injected_items_and_an_undo_brings_back_those_before() -> None:
    thread = started()
    for number in range(8):
        inject(thread, f"question {number}")
        inject(thread, f"reply {number}", role="assistant")
    failed = thread.overflow()
    plan = plan_overflow(thread.state, failed)
    assert plan is not None
    assert (plan.first_kept_turn_id, plan.skipped_items) == (failed, 0)
    assert 0 < plan.pruned_injected < 16
    kept = texts(plan.after)
    thread.retry()
    assert thread.state.trim_points[-1].pruned_injected == plan.pruned_injected
    assert texts(thread.state.active_turns[0].injected_before) == kept
    assert len(thread.state.turns[0].injected_before) == 16
    assert thread.replayed() == thread.state
