"""Automatic compaction: when it begins, and which turns it keeps
(docs/spec/context.md).
"""

from typing import Any

import pytest
from trimpoint.core.decide.autopilot import may_be_due
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling, hint_text
from trimpoint_protocol import commands as wire
from trimpoint_protocol import readmodel as rm

from tests.core.auto_compaction import (
    COMPACT,
    NOTHING,
    WINDOW,
    begins,
    filled,
    poke,
    shown,
    succeed,
)
from tests.core.given import client, started
from tests.core.usage import call, complete, made_up


def test_a_critical_context_is_compacted_when_the_turn_has_ended() -> None:
    thread = filled(10_000, 20_000, 30_000, 40_000, 91_000)
    started_, requested = poke(thread)
    assert started_ == ev.OperationStarted(
        str(thread.state.operation and thread.state.operation.id), "compact"
    )
    assert isinstance(requested, ev.CompactionRequested)
    assert (requested.keep_last_n_turns, requested.trigger) == (3, "auto")
    succeed(thread)
    point = thread.state.trim_points[-1]
    assert (point.trigger, point.pruned_turn_count, len(thread.state.active_turns)) == (
        "auto",
        2,
        3,
    )
    assert thread.state.compaction_count == 1


@pytest.mark.parametrize("auto", ["off", "warn"])
def test_automatic_compaction_runs_only_if_configured(auto: Any) -> None:
    assert poke(filled(91_000, 92_000, policy=Policy(auto=auto))) == NOTHING


def test_a_context_below_the_critical_level_is_not_compacted() -> None:
    assert poke(filled(89_000)) == NOTHING
    assert poke(started(policy=COMPACT)) == NOTHING
    thread = filled(91_000)
    thread.clear()
    assert poke(thread) == NOTHING  # unknown until it is reported


@pytest.mark.parametrize(
    ("turns", "preserve", "kept"),
    [(1, 3, 0), (2, 3, 1), (4, 3, 3), (9, 3, 3), (2, 0, 0), (5, 1, 1)],
)
def test_auto_compaction_keeps_the_configured_turns_but_never_all(
    turns: int, preserve: int, kept: int
) -> None:
    policy = Policy(auto="compact", preserve_recent_turns=preserve)
    _, requested = poke(filled(*[91_000] * turns, policy=policy))
    assert isinstance(requested, ev.CompactionRequested)
    assert requested.keep_last_n_turns == kept


def test_between_turns_only_and_one_at_a_time() -> None:
    thread = filled(91_000)
    thread.write(ev.TurnRequested("request"))
    assert poke(thread) == NOTHING
    thread.report(ev.TurnRequestEnded("request", "turn-2"), ev.TurnStarted("turn-2", 1))
    assert poke(thread) == NOTHING
    complete(thread, "turn-2")
    thread.report(ev.RequestOpened("sub-agent", "subAgent"))
    assert poke(thread) == NOTHING
    thread.report(ev.RequestClosed("sub-agent", "resolved"))
    assert begins(thread)
    assert poke(thread) == NOTHING


@pytest.mark.parametrize(("used", "is_due"), [(89_000, False), (91_000, True)])
def test_what_is_due_is_known_while_a_turn_still_runs(used: int, is_due: bool) -> None:
    thread = filled(used)
    thread.begin_turn()
    assert poke(thread) == NOTHING
    assert may_be_due(thread.state, COMPACT, 0) is is_due


def test_an_archived_thread_is_left_alone() -> None:
    thread = filled(91_000)
    thread.do(client(wire.ArchiveThread))
    assert poke(thread) == NOTHING


def test_a_session_that_broke_off_or_is_not_there_is_left_alone() -> None:
    thread = filled(91_000)
    turn_id = thread.begin_turn()
    thread.report(ev.TurnCompleted(turn_id, "interrupted", "Codex went away", items_heard=False))
    assert poke(thread) == NOTHING
    thread.report(ev.ProviderThreadBound(1, "codex-thread-1"))
    assert poke(thread) == NOTHING
    thread.report(ev.SessionReady(1))
    assert begins(thread)


def test_an_overflow_is_left_to_the_recovery_if_it_is_enabled() -> None:
    thread = filled(50_000)
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 50_000, WINDOW, WINDOW))
    complete(thread, turn_id, "contextWindowExceeded")
    assert poke(thread) == NOTHING
    assert shown(thread).message.startswith("The context is 100% full.")
    thread = filled(50_000, policy=Policy(auto="compact", overflow_recovery=False))
    complete(thread, thread.begin_turn(), "contextWindowExceeded")
    assert begins(thread)


def test_an_estimate_of_codexs_is_no_reason() -> None:
    thread = filled(91_000)
    thread.report(made_up("turn-1", 95_000, 91_010))
    thread.write(ev.UsageReported("turn-1", 95_000, 91_010, WINDOW))
    assert poke(thread) == NOTHING


def test_without_a_window_nothing_is_critical() -> None:
    thread = started(policy=COMPACT)
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, 91_000, 91_010, None))
    complete(thread, turn_id)
    assert poke(thread) == NOTHING
    assert shown(thread) == rm.AutoCompaction(mode="compact", state="idle", message="")
    assert shown(thread, Policy(auto="compact", model_windows={"gpt-5": WINDOW})).state == "due"


@pytest.mark.parametrize(
    ("given", "policy", "state", "message"),
    [
        (50_000, Policy(), "idle", ""),
        (75_000, Policy(auto="off"), "idle", ""),
        (
            75_000,
            Policy(),
            "idle",
            "The context is 75% full. /compact summarizes it; /clear N keeps the last N turns and needs no model call.",
        ),
        (
            75_000,
            COMPACT,
            "idle",
            "The context is 75% full. /compact summarizes it; /clear N keeps the last N turns and needs no model call.",
        ),
        (92_000, COMPACT, "due", "The context is 92% full. It is compacted before the next turn."),
    ],
)
def test_a_person_is_told_what_to_expect(
    given: int, policy: Policy, state: str, message: str
) -> None:
    found = shown(filled(given), policy)
    assert (found.mode, found.state, found.message) == (policy.auto, state, message)
    hints = hint_text(found.hints, Spelling.SLASH)
    assert " ".join(filter(None, (found.said, hints))) == message


def test_while_it_runs_it_says_how_far_it_is() -> None:
    thread = filled(91_000)
    assert begins(thread)
    assert shown(thread).state == "running"
    thread.advance(Phase.COMPACTING, message="Asking the model for a summary.")
    assert shown(thread).message == "The context is 91% full. Asking the model for a summary."


def test_a_sealed_summary_is_of_the_same_trigger() -> None:
    thread = filled(20_000, 91_000)
    assert begins(thread)
    succeed(thread, None)
    assert thread.state.trim_points[-1].trigger == "auto"
    assert thread.state.trim_points[-1].summary_unavailable
