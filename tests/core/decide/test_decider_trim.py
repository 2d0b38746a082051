"""`/clear [N]`: the events of a trim, and its refusals."""

import pytest
from trimpoint.core.context.active_context import pruned_turn_ids
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint_protocol.errors import Reason

from tests.core.given import START_MS, THREAD, given, started, texts, trim


def test_a_trim_of_an_unknown_thread_is_refused() -> None:
    given().when(trim(3)).rejected(Reason.THREAD_NOT_FOUND)


def test_a_clear_writes_trim_point_and_next_generation_in_one_record() -> None:
    thread = started(turns=2)
    stamp = thread.stamp()
    thread.when(trim()).then(
        ev.OperationStarted(stamp.id, "clear"),
        ev.TrimPointCreated(
            thread_id=THREAD,
            trim_point_id=stamp.id,
            created_at_ms=stamp.now_ms,
            before_entry_id="turn-2/assistant/answer of turn-2",
            pruned_message_count=4,
            pruned_turn_ids=(),
            first_kept_turn_id=None,
            generation=2,
            trigger="clear",
            pruned_turn_count=2,
            last_pruned_turn_id="turn-2",
        ),
        ev.GenerationOpened(2, "clear", "none"),
        ev.SessionStopRequested(1),
        ev.SessionStartRequested(2),
    )


def test_a_clear_with_n_keeps_the_last_n_turns() -> None:
    thread = started(turns=3)
    accepted = thread.do(trim(1))
    created, opened = accepted.events[1:3]
    assert isinstance(created, ev.TrimPointCreated)
    assert pruned_turn_ids(thread.state, created) == ["turn-1", "turn-2"]
    assert (created.pruned_message_count, created.first_kept_turn_id) == (4, "turn-3")
    assert created.before_entry_id == "turn-2/assistant/answer of turn-2"
    assert opened == ev.GenerationOpened(2, "clear", "turns", ("turn-3",))
    assert accepted.operation_id == created.trim_point_id


def test_zero_is_the_same_as_no_number() -> None:
    thread = started(turns=2)
    assert thread.when(trim(0)).decision == thread.when(trim()).decision


@pytest.mark.parametrize("keep", [2, 3, 1_000_000])
def test_keeping_as_many_turns_as_there_are_is_skipped_and_says_so(keep: int) -> None:
    rejected = started(turns=2).when(trim(keep)).rejected(Reason.NOTHING_TO_TRIM)
    assert (
        rejected.said
        == f"Nothing to trim: the agent's context holds 2 turns and {keep} would be kept."
    )
    assert rejected.block is None


def test_the_message_about_one_turn_is_in_the_singular() -> None:
    message = started(turns=1).when(trim(5)).rejected(Reason.NOTHING_TO_TRIM).said
    assert message == "Nothing to trim: the agent's context holds 1 turn and 5 would be kept."


def test_an_empty_context_has_nothing_to_trim() -> None:
    message = started().when(trim()).rejected(Reason.NOTHING_TO_TRIM).said
    assert message == "Nothing to trim: the agent's context holds no turns."


def test_after_a_clear_only_new_turns_count_as_context() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.when(trim(2)).rejected(Reason.NOTHING_TO_TRIM)
    thread.turn()
    events = thread.do(trim(2)).events
    assert isinstance(events[1], ev.TrimPointCreated)
    assert pruned_turn_ids(thread.state, events[1]) == ["turn-2"]
    assert events[3:] == (ev.SessionStopRequested(2), ev.SessionStartRequested(3))


def test_a_clear_right_after_a_clear_has_nothing_to_trim() -> None:
    thread = started(turns=3)
    thread.clear()
    thread.when(trim()).rejected(Reason.NOTHING_TO_TRIM)


def test_a_clear_right_after_a_compaction_takes_the_summary_away() -> None:
    thread = started(turns=3)
    thread.compact("what happened")
    events = thread.do(trim()).events
    assert isinstance(events[1], ev.TrimPointCreated)
    assert (events[1].pruned_message_count, events[1].pruned_turn_count) == (0, 0)
    assert events[1].before_entry_id == "turn-3/assistant/answer of turn-3"
    assert bootstrap_items(thread.state, thread.state.generation) == []


def test_keeping_turns_after_a_compaction_that_left_none_is_skipped() -> None:
    thread = started(turns=3)
    thread.compact("what happened")
    thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM)


@pytest.mark.parametrize("origin", ["adopted", "forked"])
def test_a_thread_that_was_taken_over_without_a_turn_has_nothing_to_trim(origin: str) -> None:
    thread = given()
    thread.do(internal.CreateThread(THREAD, "/work", origin, b"{}", "codex-thread-1"))
    thread.when(trim()).rejected(Reason.NOTHING_TO_TRIM)


def test_a_trim_may_bring_a_summary_of_its_own() -> None:
    thread = started(turns=3)
    stamp = thread.stamp()
    events = thread.do(trim(1, summary="in short", trigger="compact")).events
    created, summarized, opened = events[1:4]
    assert isinstance(created, ev.TrimPointCreated)
    assert (created.trigger, created.summary_unavailable) == ("compact", False)
    assert summarized == ev.ContextSummarized(THREAD, stamp.id, "in short", 0)
    assert opened == ev.GenerationOpened(2, "clear", "summary", ("turn-3",), "in short", 4)
    assert texts(bootstrap_items(thread.state, thread.state.generation)) == [
        "<conversation-summary messages=4>in short</conversation-summary>",
        "prompt of turn-3",
        "answer of turn-3",
    ]


@pytest.mark.parametrize("blank", ["", "  \n\t"])
def test_a_blank_summary_is_none(blank: str) -> None:
    thread = started(turns=3)
    assert thread.when(trim(1, summary=blank)).decision == thread.when(trim(1)).decision


def test_an_archived_thread_is_not_trimmed() -> None:
    thread = started(turns=2).write(ev.ThreadArchived())
    message = thread.when(trim()).rejected(Reason.THREAD_ARCHIVED).message
    assert message == (
        "The thread is archived; unarchive it to clear it. trimpoint threads unarchive thread-1 "
        "(in a terminal) brings it back."
    )


def test_a_trim_that_could_not_start_its_session_still_stands() -> None:
    thread = started(turns=2)
    thread.do(trim(1))
    thread.advance(Phase.FAILED, message="codex is gone")
    assert [turn.id for turn in thread.state.active_turns] == ["turn-2"]
    assert thread.state.operation is not None
    assert thread.state.operation.message == "codex is gone"
    thread.when(trim(1)).rejected(Reason.NOTHING_TO_TRIM)


def test_the_trim_point_is_stamped_by_the_daemon_not_by_the_sender() -> None:
    thread = started(turns=2)
    created = thread.do(trim(created_at="1999-01-01T00:00:00Z")).events[1]
    assert isinstance(created, ev.TrimPointCreated)
    assert created.created_at_ms > START_MS
