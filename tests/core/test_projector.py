"""Every event changes the state by a fold, and a replay gives the same state as the original
life.
"""

from typing import Any, get_args

import msgspec
import pytest
from trimpoint.core.context.carried_turns import carried_turn
from trimpoint.core.evolve.evolve import FOLDS, apply, replay
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy, busy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import MAX_RECEIPTS, Receipt, ThreadState
from trimpoint.core.views.view import read_model

from tests.core.given import THREAD, Conversation, activity, assistant, raw, started, trim, user


def entry_ids(thread: Conversation) -> list[str]:
    return [entry.id for entry in thread.state.entries]


def test_every_event_has_exactly_one_fold() -> None:
    assert set(FOLDS) == set(get_args(ev.AnyEvent))
    assert len(get_args(ev.AnyEvent)) == len({event.__struct_config__.tag for event in FOLDS})


def test_a_replay_makes_the_same_state() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn(activities=["ls"])
    thread.compact()
    assert thread.replayed() == thread.state


def test_a_state_survives_a_snapshot_and_continues_from_it() -> None:
    thread = started(turns=3)
    thread.do(trim(1))
    snapshot = msgspec.msgpack.decode(msgspec.msgpack.encode(thread.state), type=ThreadState)
    assert snapshot == thread.state
    half = len(thread.records)
    thread.settle()
    for record in thread.records[half:]:
        apply(snapshot, record)
    assert snapshot == thread.state


def discarded(*turn_ids: str) -> ev.ContextDiscarded:
    """Returns a discard as a fork has it, whose turns are all of its first generation."""
    positions = tuple((turn_id, (0,)) for turn_id in turn_ids)
    return ev.ContextDiscarded(THREAD, "-".join(turn_ids), 0, (), positions, 1, "compress", 5)


def test_turns_that_were_reverted_leave_the_discards_that_a_fork_has() -> None:
    thread = started(turns=3)
    thread.write(discarded("turn-1", "turn-3"))
    thread.write(discarded("turn-3"))
    thread.write(ev.TurnsRolledBack("turn-2"))
    [left] = thread.state.discards
    assert list(left.positions) == list(left.entries) == list(left.messages) == ["turn-1"]
    assert (left.turn_index, left.entry_index) == (1, len(thread.state.entries))
    [shown] = read_model(thread.state, Policy()).context_trim_points
    assert shown.before_entry_id == thread.state.entries[-1].id


def test_a_revert_leaves_the_discards_that_a_fork_has_and_its_undo_brings_them_back_whole() -> None:
    thread = started(turns=3)
    thread.write(discarded("turn-1", "turn-3"))
    thread.write(discarded("turn-3"))
    thread.turn()
    before = list(thread.state.discards)
    thread.revert(turn_count=2)
    [left] = thread.state.discards
    assert list(left.positions) == list(left.entries) == list(left.messages) == ["turn-1"]
    [shown] = read_model(thread.state, Policy()).context_trim_points
    assert shown.before_entry_id == thread.state.entries[-1].id
    thread.revert(undo=True)
    assert thread.state.discards == before
    assert thread.replayed() == thread.state


def test_a_carried_turn_has_what_was_injected_behind_it_though_its_items_were_dropped() -> None:
    thread = started(turns=2)
    thread.write(ev.ContextItemsRecorded("turn-1", (raw(text="injected"),), injected=1))
    thread.clear(0)
    [turn, _] = thread.state.turns
    facts = list(carried_turn(thread.state, turn, turn.items, turn.injected))
    assert [fact for fact in facts if isinstance(fact, ev.ContextItemsRecorded)] == [
        ev.ContextItemsRecorded("turn-1", (raw(text="injected"),), injected=1)
    ]


def test_states_share_nothing() -> None:
    first, second = started(turns=2), started()
    assert (len(first.state.turns), len(second.state.turns)) == (2, 0)
    assert replay([]) == ThreadState()


def test_positions_count_events_not_records() -> None:
    thread = started()
    assert (thread.state.sequence, thread.state.thread_sequence) == (4, 4)
    thread.write(ev.ThreadRenamed("a"), ev.ThreadRenamed("b"))
    assert (thread.state.sequence, thread.state.thread_sequence) == (6, 6)
    assert thread.state.updated_at_ms == thread.now_ms - 1_000


def test_a_command_leaves_a_receipt_even_when_nothing_happened() -> None:
    thread = started()
    thread.write(command_id="c-1")
    thread.write(ev.CommandRejected("nothing_to_trim", "Nothing."), command_id="c-2")
    at_ms, rejected = thread.now_ms, ev.CommandRejected("nothing_to_trim", "Nothing.")
    assert thread.state.receipts == {
        "c-1": Receipt(b"fingerprint", 5, 5, at_ms - 2_000, (), None),
        "c-2": Receipt(b"fingerprint", 5, 5, at_ms - 1_000, (rejected,), None),
    }
    assert thread.state.thread_sequence == 5


INTENTS: list[ev.AnyEvent] = [
    ev.SessionStopRequested(1),
    ev.SessionStartRequested(1),
    ev.CompactionFailed("o", "no"),
    ev.ContextLost(1, "gone"),
    ev.CommandRejected("usage", "no"),
]


@pytest.mark.parametrize("intent", INTENTS)
def test_an_intent_or_a_note_changes_nothing(intent: ev.AnyEvent) -> None:
    thread = started(turns=1)
    before = unplaced(thread.state)
    assert unplaced(thread.write(intent).state) == before


def unplaced(state: ThreadState) -> dict[str, Any]:
    """Returns the state without its sequence numbers and times."""
    placed = ("sequence", "thread_sequence", "updated_at_ms")
    return {
        name: value for name, value in msgspec.structs.asdict(state).items() if name not in placed
    }


def test_name_and_settings_are_the_last_reported_ones() -> None:
    thread = started().write(ev.ThreadRenamed("a"), ev.SettingsChanged(b'{"model":"gpt-6"}'))
    assert (thread.state.name, thread.state.settings) == ("a", b'{"model":"gpt-6"}')
    assert thread.write(ev.ThreadRenamed(None)).state.name is None


def test_a_new_binding_is_not_ready_before_its_ready_event() -> None:
    thread = started().write(ev.ProviderThreadBound(1, "codex-thread-2", None, raw_events=False))
    generation = thread.state.generation
    assert (generation.provider_thread_id, generation.rollout_path) == ("codex-thread-2", None)
    assert (generation.ready, generation.raw_events) == (False, False)


def test_a_phase_of_another_operation_is_ignored() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.write(ev.OperationAdvanced("another", "failed", "no"))
    assert thread.state.operation is not None
    assert thread.state.operation.phase is Phase.REQUESTED
    started().write(ev.OperationAdvanced("none", "failed", "no"))


def test_the_operation_stores_the_options_of_its_compaction() -> None:
    thread = started()
    thread.write(ev.CompactionRequested("o", 2), ev.CompactionForked("o", "fork-1"))
    assert thread.state.operation is None
    thread.write(
        ev.OperationStarted("o", "compact"),
        ev.CompactionRequested("o", 2, "the names", "automatic"),
        ev.CompactionForked("o", "fork-1"),
    )
    operation = thread.state.operation
    assert operation is not None
    asked = (operation.compaction_keep, operation.compaction_guidance, operation.compaction_trigger)
    assert (*asked, operation.compaction_fork) == (2, "the names", "automatic", "fork-1")


def test_a_trim_forgets_the_raw_items_of_what_it_prunes_only() -> None:
    thread = started(turns=3)
    thread.clear(2)
    assert [bool(turn.items) for turn in thread.state.turns] == [False, True, True]


def test_only_compactions_are_counted_as_such() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.compact()
    assert thread.state.compaction_count == 1


def test_a_summary_may_come_after_its_trim_point() -> None:
    thread = started(turns=3)
    first = thread.compact(None)
    thread.turns(2)
    thread.clear(1)
    assert thread.state.trim_points[0].summary_unavailable
    thread.write(ev.ContextSummarized(THREAD, first, "found later", 10))
    assert [point.summary for point in thread.state.trim_points] == ["found later", None]
    assert not thread.state.trim_points[0].summary_unavailable


def test_a_summary_of_an_unknown_trim_point_is_ignored() -> None:
    thread = started(turns=1)
    thread.clear()
    thread.write(ev.ContextSummarized(THREAD, "another", "lost", 10))
    assert thread.state.trim_points[0].summary is None


def test_usage_is_unknown_after_a_trim_until_it_is_reported() -> None:
    thread = started(turns=1)
    thread.report(ev.UsageReported("turn-1", 9_000, 20_000, 100_000))
    thread.clear()
    assert (thread.state.usage.report, thread.state.usage.window) == (None, 100_000)


def test_items_of_a_rollout_replace_the_reported_ones_and_make_the_turn_complete() -> None:
    thread = started()
    thread.begin_turn()
    first, second = raw(type="message", n=1), raw(type="message", n=2)
    thread.report(
        ev.ContextItemsRecorded("turn-1", (first,)), ev.ContextItemsRecorded("turn-1", (second,))
    )
    thread.report(ev.TurnCompleted("turn-1", "interrupted", "died", items_heard=False))
    turn = thread.state.turns[0]
    assert (turn.items, turn.items_complete) == ([first, second], False)
    thread.report(ev.ContextItemsRecorded("turn-1", (second,), "rollout"))
    assert (turn.items, turn.items_complete) == ([second], True)


@pytest.mark.parametrize(
    ("raw_events", "items_heard", "complete"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_items_are_complete_when_every_one_was_reported(
    raw_events: bool, items_heard: bool, complete: bool
) -> None:
    thread = started().write(ev.ProviderThreadBound(1, "p", None, raw_events))
    thread.begin_turn()
    thread.report(ev.TurnCompleted("turn-1", "completed", items_heard=items_heard))
    assert thread.state.turns[0].items_complete is complete


def test_the_end_of_an_older_turn_leaves_the_running_one_running() -> None:
    thread = started()
    thread.begin_turn()
    thread.begin_turn()
    thread.report(ev.TurnCompleted("turn-1", "interrupted", "superseded", error_kind="other"))
    assert thread.state.running_turn_id == "turn-2"
    assert [turn.status for turn in thread.state.turns] == ["interrupted", "running"]
    assert (thread.state.turns[0].error, thread.state.turns[0].error_kind) == (
        "superseded",
        "other",
    )


def test_reporting_of_items_depends_on_the_turns_own_generation() -> None:
    thread = started(turns=2)
    thread.clear(1)
    thread.write(ev.ProviderThreadBound(2, "codex-thread-2", None, raw_events=False))
    thread.turn()
    assert [turn.items_complete for turn in thread.state.turns] == [False, True, False]


def test_a_pruned_turn_lets_go_of_its_items_and_knows_that_it_has_none() -> None:
    thread = started(turns=1)
    assert thread.state.turns[0].items
    thread.clear()
    assert (thread.state.turns[0].items, thread.state.turns[0].items_complete) == ([], False)


@pytest.mark.parametrize(
    ("end", "missed"),
    [
        (ev.TurnCompleted("turn-1", "interrupted", "codex died", items_heard=False), True),
        (ev.TurnCompleted("turn-1", "interrupted"), False),
        (ev.TurnCompleted("turn-1", "failed", "no room", items_heard=False), False),
        (ev.TurnRequestEnded("request-1", error="codex died"), True),
        (ev.TurnRequestEnded("request-1", "turn-1"), False),
    ],
)
def test_a_session_that_broke_off_at_work_may_have_missed_something_until_it_is_ready_again(
    end: ev.AnyEvent, missed: bool
) -> None:
    thread = started()
    thread.begin_turn()
    thread.report(ev.TurnRequested("request-1"))
    assert thread.report(end) == (end,)
    assert thread.state.may_have_missed is missed
    assert not thread.write(ev.SessionReady(1)).state.may_have_missed


def test_turns_are_counted_by_generation() -> None:
    thread = started(turns=2)
    thread.clear(1)
    thread.turn()
    assert [generation.turn_count for generation in thread.state.generations] == [2, 1]
    assert [turn.generation for turn in thread.state.turns] == [1, 1, 2]


def test_a_command_that_outlives_its_turn_is_filed_with_its_turn() -> None:
    thread = started()
    thread.turn("one", "1")
    thread.turn("two", "2")
    thread.report(activity("turn-1", "npm run dev"))
    assert [entry.text for entry in thread.state.entries] == ["one", "1", "npm run dev", "two", "2"]
    assert [*map(thread.state.place_of, entry_ids(thread))] == [0, 1, 2, 3, 4]
    assert thread.do(trim(1)).events[1].before_entry_id == "turn-1/activity/npm run dev"  # type: ignore[union-attr]


def test_a_command_that_outlives_a_clear_stays_above_its_divider() -> None:
    thread = started()
    thread.turn("one", "1")
    thread.clear()
    thread.report(activity("turn-1", "npm run dev"))
    point = thread.state.trim_points[0]
    assert (point.entry_index, point.before_entry_id) == (3, "turn-1/activity/npm run dev")
    assert point.pruned_message_count == 2
    thread.turn("two", "2")
    assert thread.state.turns[1].first_entry_index == 3


def test_a_late_entry_of_the_first_kept_turn_stays_below_the_divider() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.report(activity("turn-2", "npm run dev"))
    point = thread.state.trim_points[0]
    assert (point.entry_index, point.before_entry_id) == (2, "turn-1/assistant/answer of turn-1")
    assert thread.state.entries[4].text == "npm run dev"


def test_a_late_message_counts_where_its_turn_was_pruned() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.clear(1)
    thread.report(user("turn-1", "late"))
    thread.report(assistant("turn-3", "late too"))
    assert [point.pruned_message_count for point in thread.state.trim_points] == [3, 2]
    assert [point.entry_index for point in thread.state.trim_points] == [3, 5]
    assert [turn.message_count for turn in thread.state.turns] == [3, 2, 3]


def test_what_was_injected_after_a_pruned_turn_is_kept_without_its_other_items() -> None:
    thread = started(turns=2)
    turn, injected = thread.state.turns[0], raw(type="message", role="user", content=[])
    thread.report(ev.ContextItemsRecorded(turn.id, (*turn.items, injected), "rollout", 1))
    thread.clear(1)
    assert (turn.items, turn.injected_items) == ([], [injected])


def test_only_the_newest_receipts_are_kept_and_a_repeated_id_counts_as_new() -> None:
    thread = started()
    for number in range(MAX_RECEIPTS):
        thread.write(ev.ThreadRenamed(f"name {number}"), command_id=f"command {number}")
    thread.write(ev.ThreadRenamed("again"), command_id="command 0")
    thread.write(ev.ThreadRenamed("one more"), command_id="one more")
    assert len(thread.state.receipts) == MAX_RECEIPTS
    assert "command 0" in thread.state.receipts
    assert "command 1" not in thread.state.receipts
    assert thread.replayed().receipts == thread.state.receipts


def test_a_turn_that_runs_as_it_is_reverted_keeps_no_thread_busy() -> None:
    thread = started(turns=1)
    thread.write(ev.TurnStarted("turn-2", 1))
    thread.write(ev.TurnsRolledBack("turn-1"))
    assert busy(thread.state) is None
