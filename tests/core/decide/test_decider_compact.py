"""`/compact` in two phases, of which only the second changes the context."""

import pytest
from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint_protocol.errors import Reason

from tests.core.given import THREAD, compact, started, texts, trim
from tests.core.usage import call, complete


def test_a_compaction_is_only_asked_for_at_first() -> None:
    thread = started(turns=3)
    operation_id = thread.stamp().id
    accepted = thread.when(compact(2, guidance="keep the names")).then(
        ev.OperationStarted(operation_id, "compact"),
        ev.CompactionRequested(operation_id, 2, "keep the names"),
    )
    assert accepted.operation_id == operation_id


@pytest.mark.parametrize("blank", [None, "", " \n"])
def test_blank_guidance_is_none(blank: str | None) -> None:
    thread = started(turns=3)
    requested = thread.do(compact(guidance=blank)).events[1]
    assert isinstance(requested, ev.CompactionRequested)
    assert (requested.guidance, requested.keep_last_n_turns, requested.trigger) == (None, 0, "user")


ON = "/compact --force summarizes it all the same; /clear drops it."


def test_a_short_conversation_is_not_compacted() -> None:
    message = started(turns=2).when(compact()).rejected(Reason.NOT_ENOUGH_MESSAGES).message
    assert (
        message
        == "Not enough to compact: the agent's context holds 4 messages, fewer than 6. " + ON
    )


@pytest.mark.parametrize(("used", "accepted"), [(60_000, False), (75_000, True), (95_000, True)])
def test_a_short_conversation_that_fills_the_window_is_compacted(used: int, accepted: bool) -> None:
    thread = started(policy=Policy(model_windows={"gpt-5": 100_000}))
    turn_id = thread.begin_turn()
    thread.report(call(turn_id, used, used, 100_000))
    complete(thread, turn_id)
    when = thread.when(compact())
    if accepted:
        assert thread.do(compact()).operation_id
    else:
        when.rejected(Reason.NOT_ENOUGH_MESSAGES)


def test_one_message_is_named_in_the_singular() -> None:
    thread = started()
    thread.begin_turn()
    thread.report(ev.TurnCompleted("turn-1", "interrupted"))
    message = thread.when(compact()).rejected(Reason.NOT_ENOUGH_MESSAGES).message
    assert (
        message == "Not enough to compact: the agent's context holds 1 message, fewer than 6. " + ON
    )


def test_force_compacts_a_short_conversation() -> None:
    assert started(turns=1).do(compact(force=True)).operation_id


def test_the_minimum_is_configured() -> None:
    assert started(turns=1, policy=Policy(min_messages=2)).do(compact()).operation_id


@pytest.mark.parametrize("policy", [Policy(), Policy(min_messages=0)])
def test_an_empty_context_is_never_compacted(policy: Policy) -> None:
    thread = started(policy=policy)
    message = thread.when(compact(force=True)).rejected(Reason.NOT_ENOUGH_MESSAGES).said
    assert message == "Nothing to compact: the agent's context holds 0 messages."


@pytest.mark.parametrize("keep", [3, 4])
def test_keeping_every_turn_leaves_nothing_to_compact(keep: int) -> None:
    started(turns=3).when(compact(keep)).rejected(Reason.NOTHING_TO_TRIM)


def test_a_second_compaction_is_refused_while_one_is_running() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    rejected = thread.when(compact()).rejected(Reason.ALREADY_IN_PROGRESS)
    assert rejected.block is not None
    assert rejected.block[:2] == ("operation", operation_id)
    assert (
        rejected.message
        == "Cannot compact the thread now: its compact operation is still under way. "
        "Try again when it has ended."
    )


def test_a_finished_compaction_trims_and_opens_the_next_generation_with_the_summary() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction(1)
    stamp = thread.stamp()
    accepted = thread.when(internal.CompleteCompaction(operation_id, "in short", 1_500)).then(
        ev.TrimPointCreated(
            THREAD, stamp.id, stamp.now_ms, "turn-2/assistant/answer of turn-2", 4, (),
            "turn-3", 2, "compact", pruned_turn_count=2, last_pruned_turn_id="turn-2",
        ),
        ev.ContextSummarized(
            THREAD, stamp.id, "in short", 1_500, tokens_before=36, tokens_after=20
        ),
        ev.GenerationOpened(2, "compact", "summary", ("turn-3",), "in short", 4),
        ev.SessionStopRequested(1),
        ev.SessionStartRequested(2),
        ev.OperationAdvanced(operation_id, "stopping", "Restarting the session with the summary."),
    )  # fmt: skip
    assert accepted.operation_id == operation_id


def test_an_earlier_summary_is_folded_in_and_counted_as_one_message() -> None:
    thread = started(turns=3)
    thread.compact("the first three")
    thread.turns(3)
    assert active_message_count(thread.state) == 7
    thread.compact("all six")
    assert thread.state.generation.summarized_messages == 7
    assert active_message_count(thread.state) == 1
    assert texts(bootstrap_items(thread.state, thread.state.generation)) == [
        "<conversation-summary messages=7>all six</conversation-summary>"
    ]


def test_a_summary_alone_is_compacted_only_by_force() -> None:
    thread = started(turns=3)
    thread.compact("in short")
    thread.when(compact()).rejected(Reason.NOT_ENOUGH_MESSAGES)
    thread.compact("shorter")
    assert thread.state.trim_points[-1].pruned_message_count == 0


def test_a_summary_that_only_the_provider_can_read_is_carried_by_the_provider() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    sealed = internal.CompleteCompaction(operation_id, None, 1_500, "codex-thread-9", "/rollouts/9")
    events = thread.do(sealed).events
    created = events[0]
    assert isinstance(created, ev.TrimPointCreated)
    assert created.summary_unavailable
    assert events[1:4] == (
        ev.GenerationOpened(2, "compact", "provider"),
        ev.ProviderThreadBound(2, "codex-thread-9", "/rollouts/9"),
        ev.SessionReady(2),
    )
    assert thread.state.generation.provider_thread_id == "codex-thread-9"
    assert bootstrap_items(thread.state, thread.state.generation) == []
    assert active_message_count(thread.state) == 1


def test_no_items_are_injected_when_the_provider_keeps_the_context() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction(1)
    thread.do(internal.CompleteCompaction(operation_id, "in short", 1_500, "codex-thread-9"))
    assert thread.state.trim_points[-1].summary == "in short"
    assert bootstrap_items(thread.state, thread.state.generation) == []


@pytest.mark.parametrize("phase", [Phase.COMPACTING, Phase.REQUESTED])
def test_a_failed_compaction_says_so_and_changes_nothing(phase: Phase) -> None:
    thread = started(turns=3)
    operation_id = thread.do(compact()).operation_id
    assert operation_id is not None
    if phase is Phase.COMPACTING:
        thread.advance(phase)
    failed = internal.AdvanceOperation(
        operation_id, Phase.FAILED, "model says no", "provider_timeout"
    )
    thread.when(failed).then(
        ev.CompactionFailed(operation_id, "model says no"),
        ev.OperationAdvanced(operation_id, "failed", "model says no", "provider_timeout"),
    )
    thread.do(failed)
    assert (len(thread.state.active_turns), thread.state.generation.number) == (3, 1)
    assert thread.state.trim_points == []


def test_a_restart_that_fails_after_the_trim_is_no_failed_compaction() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    thread.do(internal.CompleteCompaction(operation_id, "in short", 1_500))
    failed = thread.advance(Phase.FAILED, message="no codex")
    assert failed.events == (ev.OperationAdvanced(operation_id, "failed", "no codex"),)


def test_a_result_that_comes_too_late_is_refused() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    thread.advance(Phase.FAILED)
    late = internal.CompleteCompaction(operation_id, "in short", 1_500)
    thread.when(late).rejected(Reason.INTERNAL)


def test_a_summary_does_not_end_a_turn_that_has_begun_meanwhile() -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    turn_id = thread.begin_turn()
    done = internal.CompleteCompaction(operation_id, "in short", 1_500)
    thread.when(done).rejected(Reason.COMPACTION_FAILED)
    complete(thread, turn_id)
    thread.do(done)


def test_a_result_of_another_compaction_is_refused() -> None:
    thread = started(turns=3)
    thread.begin_compaction()
    thread.when(internal.CompleteCompaction("another", "in short", 1_500)).rejected(Reason.INTERNAL)


def test_a_result_before_the_compaction_was_begun_is_refused() -> None:
    thread = started(turns=3)
    operation_id = str(thread.do(compact()).operation_id)
    thread.when(internal.CompleteCompaction(operation_id, "in short", 1_500)).rejected(
        Reason.INTERNAL
    )


def test_a_compaction_makes_a_trim_wait() -> None:
    thread = started(turns=3)
    thread.begin_compaction()
    thread.when(trim()).rejected(Reason.ALREADY_IN_PROGRESS)
