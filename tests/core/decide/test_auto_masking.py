"""Automatic masks: when old output is masked without a request, and when it is left alone."""

import msgspec
import pytest
from trimpoint.core.decide.auto_masking import Wait
from trimpoint.core.decide.autopilot import may_be_due, next_act
from trimpoint.core.views.trim_outcome import called
from trimpoint.operations.messages import ready_message
from trimpoint_protocol import commands as wire

from tests.core.auto_compaction import WINDOW
from tests.core.automatic import MASK, MINUTE_MS, measured, trims, worked
from tests.core.given import Conversation, client
from tests.core.pinning import act, pin


def due_after(thread: Conversation, minutes: float) -> bool:
    last = thread.state.usage.last_call
    assert last is not None
    return next_act(thread.state, thread.policy, last.at_ms + round(minutes * MINUTE_MS)).masks


def test_nothing_is_masked_below_the_share_or_where_it_is_not_configured() -> None:
    assert not due_after(measured(worked(), 30_000), 60)
    warns = msgspec.structs.replace(MASK, auto="warn")
    assert not due_after(measured(worked(policy=warns), 80_000), 60)


def test_from_the_share_on_it_waits_for_a_cold_cache() -> None:
    thread = measured(worked(), 55_000)
    assert not due_after(thread, 1)
    assert due_after(thread, 11)


@pytest.mark.parametrize(("used", "is_due"), [(75_000, False), (95_000, True)])
def test_with_a_warm_cache_it_masks_when_it_pays_off_soon_or_is_urgent(
    used: int, is_due: bool
) -> None:
    assert due_after(measured(worked(), used), 1) is is_due


def test_how_soon_it_must_pay_off_can_be_configured() -> None:
    patient = msgspec.structs.replace(MASK, pays_off_within=1_000)
    assert due_after(measured(worked(policy=patient), 75_000), 1)


def test_how_many_of_the_newest_turns_keep_their_output_can_be_configured() -> None:
    few = msgspec.structs.replace(MASK, discard=msgspec.structs.replace(MASK.discard, keep_turns=1))
    [masked] = trims(measured(worked(policy=few), 95_000))
    assert masked.masked_entry_ids == ("w0", "w1", "w2", "w3", "w4", "w5", "w6")


def test_what_frees_too_little_is_not_masked() -> None:
    policy = msgspec.structs.replace(MASK, min_freed=0.1)
    assert not due_after(measured(worked(policy=policy), 95_000), 60)


def test_what_is_pinned_does_not_count_as_freed() -> None:
    thread = measured(worked(), 95_000)
    freed = next_act(thread.state, MASK, thread.now_ms).masking.freed_tokens
    policy = msgspec.structs.replace(MASK, min_freed=(freed - 1) / WINDOW)
    assert next_act(thread.state, policy, thread.now_ms).masks
    pin(thread, 1)
    assert next_act(thread.state, MASK, thread.now_ms).masks
    assert next_act(thread.state, policy, thread.now_ms).masking.wait is Wait.LITTLE


def test_masks_may_be_due_where_the_context_is_not_compacted() -> None:
    assert may_be_due(measured(worked(), 95_000).state, MASK, 0)
    assert not may_be_due(measured(worked(), 30_000).state, MASK, 0)


def test_an_automatic_mask_leaves_the_newest_turns_and_says_what_it_was() -> None:
    thread = measured(worked(), 95_000)
    [masked] = trims(thread)
    assert (masked.trigger, masked.used_tokens) == ("autoMask", 95_010)
    assert masked.masked_entry_ids == ("w0", "w1", "w2", "w3", "w4")
    operation = thread.state.operation
    assert operation is not None
    thread.settle()
    said = ready_message(thread.state, operation, [])
    assert said.startswith(
        "Masked automatically, as the context filled up: the output of 5 entries"
    )
    assert called(thread.state.discards[-1]) == "the automatic mask"
    assert trims(thread) == []


def test_a_person_who_undoes_it_is_left_alone_until_the_context_has_grown() -> None:
    thread = measured(worked(), 95_000)
    assert trims(thread)
    thread.settle()
    act(thread, client(wire.UndoTrim))
    measured(thread, 98_000)
    assert trims(thread) == []
    measured(thread, 106_000)
    assert trims(thread)


def test_the_rung_above_masks_before_it_compacts() -> None:
    policy = msgspec.structs.replace(MASK, auto="compact")
    thread = measured(worked(policy=policy), 95_000)
    assert trims(thread)
