"""Masks within a turn: when a turn is paused for them, what they leave, and what goes on first."""

import msgspec
import pytest
from trimpoint.core.decide.autopilot import is_between_steps, is_pause_due, may_pause
from trimpoint.core.decide.masking import NEWEST_OUTPUTS
from trimpoint.core.decide.queueing import ends_unanswered, next_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire

from tests.core.auto_compaction import WINDOW
from tests.core.automatic import MASK, trims
from tests.core.given import Conversation, activity, client, raw, started, user
from tests.core.usage import call

OUTPUTS = NEWEST_OUTPUTS + 3
WITHIN = msgspec.structs.replace(MASK, mid_turn=True)


def at_work(
    used: int = 95_000, *, outputs: int = OUTPUTS, policy: Policy = WITHIN
) -> tuple[Conversation, str]:
    """Returns a thread with a running turn of so many calls, each answered, and the turn."""
    thread = started(policy=policy)
    turn_id = thread.begin_turn("go on")
    for number in range(outputs):
        step(thread, turn_id, f"c{number}")
    thread.report(call(turn_id, used, used + 10, WINDOW))
    return thread, turn_id


def step(thread: Conversation, turn_id: str, name: str, *, is_answered: bool = True) -> None:
    asked = raw(type="function_call", call_id=name, name="exec_command", arguments="{}")
    output = raw(type="function_call_output", call_id=name, output=f"{name} " * 2_000)
    thread.report(activity(turn_id, f"cat {name}", name))
    items = (asked, output) if is_answered else (asked,)
    thread.report(*(ev.ContextItemsRecorded(turn_id, (item,)) for item in items))


def due(thread: Conversation) -> bool:
    return is_pause_due(thread.state, thread.policy, thread.now_ms)


def pause(thread: Conversation, turn_id: str) -> None:
    thread.report(ev.TurnCompleted(turn_id, "completed", error_kind=ev.PAUSED))


def test_a_full_context_pauses_a_turn_between_two_steps() -> None:
    thread, _ = at_work()
    assert due(thread)
    assert not due(at_work(20_000)[0])


def test_within_a_turn_a_quarter_of_the_window_is_enough_where_it_pays_off() -> None:
    assert due(at_work(40_000, outputs=OUTPUTS + 10)[0])
    assert not due(at_work(40_000)[0])
    assert not due(at_work(20_000, outputs=OUTPUTS + 10)[0])


@pytest.mark.parametrize("policy", [MASK, msgspec.structs.replace(WITHIN, auto="warn")])
def test_no_turn_is_paused_where_that_is_not_configured(policy: Policy) -> None:
    thread, _ = at_work(policy=policy)
    assert not may_pause(thread.state, thread.policy, thread.now_ms)
    assert not due(thread)


def test_the_newest_outputs_alone_pause_no_turn() -> None:
    assert not due(at_work(outputs=NEWEST_OUTPUTS)[0])


def test_a_call_that_still_runs_is_waited_for() -> None:
    thread, turn_id = at_work()
    step(thread, turn_id, "runs", is_answered=False)
    assert not due(thread)
    output = raw(type="function_call_output", call_id="runs", output="ended")
    thread.report(ev.ContextItemsRecorded(turn_id, (output,)))
    assert due(thread)


def test_of_two_calls_at_once_both_are_waited_for() -> None:
    thread, turn_id = at_work()
    step(thread, turn_id, "runs", is_answered=False)
    step(thread, turn_id, "ended")
    assert not due(thread)


def test_a_turn_is_not_paused_while_something_is_asked_or_begun() -> None:
    for event in (ev.RequestOpened("r1", "item/fileChange/requestApproval"), ev.TurnRequested("q")):
        thread, _ = at_work()
        thread.report(event)
        assert not due(thread)


def test_a_review_an_idle_thread_and_one_that_is_trimmed_are_not_between_steps() -> None:
    review = started(policy=WITHIN)
    turn_id = "review"
    review.report(ev.TurnStarted(turn_id, 1))
    review.report(ev.EntryRecorded(turn_id, "r", "activity", "enteredReviewMode", "review"))
    step(review, turn_id, "c")
    idle = started(turns=1, policy=WITHIN)
    assert not is_between_steps(review.state)
    assert not is_between_steps(idle.state)
    assert not due(idle)


def test_what_a_pause_masks_leaves_the_newest_outputs_and_is_undone_by_one_word() -> None:
    thread, turn_id = at_work()
    pause(thread, turn_id)
    [masked] = trims(thread)
    assert masked.masked_entry_ids == tuple(f"c{number}" for number in range(3))
    thread.settle()
    assert thread.state.operation is not None
    said = ready_message(thread.state, thread.state.operation, [])
    assert said.endswith("Files are as they were. The work goes on in the next turn.")
    thread.do(client(wire.UndoTrim, force=True))
    thread.settle()
    assert thread.state.discards == []


def test_what_the_agent_had_begun_to_say_is_counted() -> None:
    thread, turn_id = at_work()
    part = ev.EntryRecorded(turn_id, "half", "message", "assistant", "Now I look", extent=ev.PART)
    thread.report(part)
    pause(thread, turn_id)
    assert trims(thread)
    thread.settle()
    assert thread.state.operation is not None
    said = ready_message(thread.state, thread.state.operation, [])
    assert said.endswith("; 3 words that the agent had begun to say did not.")


def test_a_turn_that_is_not_paused_masks_by_the_rules_between_turns() -> None:
    thread, turn_id = at_work()
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    assert trims(thread) == []


def test_queued_prompts_wait_until_the_work_has_ended() -> None:
    thread, turn_id = at_work()
    thread.do(client(wire.QueuePrompt, input=[{"type": "text", "text": "then this"}]))
    pause(thread, turn_id)
    assert next_prompt(thread.state) is None
    next_id = thread.begin_turn("<context-reduced>go on")
    thread.report(ev.TurnCompleted(next_id, "completed"))
    assert next_prompt(thread.state) is not None


def test_a_prompt_behind_a_paused_turn_is_answered_by_the_next_one() -> None:
    thread, turn_id = at_work()
    thread.report(ev.EntryRecorded(turn_id, "said", "message", "assistant", "so"))
    thread.report(user(turn_id, "and this"))
    pause(thread, turn_id)
    assert not ends_unanswered(thread.state, turn_id)


def test_an_operation_that_is_open_pauses_no_turn() -> None:
    thread, turn_id = at_work()
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    thread.do(client(wire.TrimContext, keep_last_n_turns=0))
    thread.advance(Phase.STOPPING)
    assert not is_between_steps(thread.state)
