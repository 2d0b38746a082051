"""Creating, starting, stopping, renaming, archiving and replacing a thread, and the steps of an
operation.
"""

import msgspec
import pytest
from trimpoint.core.context.carried_turns import carried_pins_of, carried_turn
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.decide.decider import AnyCommand
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import SETTINGS, THREAD, client, given, started, texts, trim


def create(origin: str, provider_thread_id: str | None = None) -> internal.CreateThread:
    return internal.CreateThread(
        THREAD, "/work", origin, SETTINGS, provider_thread_id, "/rollout", True
    )


def test_a_started_thread_is_ready_with_its_provider_thread() -> None:
    given().when(create("started", "codex-thread-1")).then(
        ev.ThreadCreated(THREAD, "/work", "started", SETTINGS),
        ev.GenerationOpened(1, "start", "none"),
        ev.ProviderThreadBound(1, "codex-thread-1", "/rollout", raw_events=True),
        ev.SessionReady(1),
    )


@pytest.mark.parametrize(("origin", "reason"), [("adopted", "resume"), ("forked", "start")])
def test_a_thread_with_a_history_of_its_own_is_kept_by_the_provider(
    origin: str, reason: str
) -> None:
    thread = given()
    thread.do(create(origin, "codex-thread-1"))
    assert thread.state.generation.reason == reason
    assert thread.state.generation.bootstrap == "provider"


def test_a_thread_that_is_to_be_filled_is_busy_until_it_is() -> None:
    command = msgspec.structs.replace(create("imported", "codex-thread-1"), to_be_filled=True)
    accepted = (
        given()
        .when(command)
        .then(
            ev.ThreadCreated(THREAD, "/work", "imported", SETTINGS),
            ev.GenerationOpened(1, "start", "provider"),
            ev.ProviderThreadBound(1, "codex-thread-1", "/rollout", raw_events=True),
            ev.SessionReady(1),
            ev.OperationStarted("id-0", "fill"),
        )
    )
    assert accepted.operation_id == "id-0"


def test_a_new_thread_has_an_operation_open_its_session() -> None:
    accepted = (
        given()
        .when(create("new"))
        .then(
            ev.ThreadCreated(THREAD, "/work", "new", SETTINGS),
            ev.GenerationOpened(1, "start", "none"),
            ev.OperationStarted("id-0", "start"),
            ev.SessionStartRequested(1),
        )
    )
    assert accepted.operation_id == "id-0"


def test_everything_a_thread_is_bound_to_is_written_down() -> None:
    state = started().state
    bound = (
        state.project_id,
        state.worktree_id,
        state.branch_name,
        state.name,
        state.cwd,
        state.settings,
    )
    assert bound == ("project-1", "worktree-1", "main", "A name", "/work", SETTINGS)


def test_a_thread_is_created_once() -> None:
    started().when(create("started", "codex-thread-2")).rejected(Reason.INTERNAL)


@pytest.mark.parametrize(
    "command",
    [
        client(wire.StopSession),
        client(wire.UnarchiveThread),
        client(wire.RenameThread, name="x"),
        internal.RecordFacts(()),
        internal.AdvanceOperation("o", Phase.READY),
        internal.CompleteCompaction("o", "s", 1),
        internal.OpenSession(),
        internal.AbandonOpenWork("gone"),
    ],
)
def test_only_creation_needs_no_thread(command: AnyCommand) -> None:
    given().when(command).rejected(Reason.THREAD_NOT_FOUND)


def test_new_archives_the_thread_and_names_its_successor() -> None:
    thread = started(turns=2)
    thread.when(client(wire.ArchiveAndNew, new_thread_id="thread-2")).then(
        ev.ArchivedAndNewCreated(
            THREAD, "thread-2", "worktree-1", "main", "project-1", "/work", SETTINGS
        ),
        ev.SessionStopRequested(1),
    )


def test_new_with_pins_says_so_in_its_event_where_something_is_pinned() -> None:
    thread = started(turns=2)
    thread.do(client(wire.PinContext, turns=[1]))
    thread.do(client(wire.ArchiveAndNew, new_thread_id="thread-2", pins=True))
    assert thread.state.new_with_pins
    carried = carried_pins_of(thread.state, "thread-2")
    successor = given()
    successor.do(msgspec.structs.replace(create("new"), thread_id="thread-2", pinned=carried))
    assert [turn.id for turn in successor.state.active_turns] == ["turn-1"]
    assert [pin.turn_id for pin in successor.state.pins] == ["turn-1"]
    given_items = bootstrap_items(successor.state, successor.state.generation)
    assert texts(given_items) == ["prompt of turn-1", "answer of turn-1"]


def test_a_pinned_note_is_carried_too() -> None:
    thread = started(turns=1)
    thread.do(client(wire.PinContext, note="Python 3.8 only"))
    thread.settle()
    [carried] = carried_pins_of(thread.state, "thread-2")
    assert isinstance(carried, ev.ContextPinned)
    assert (carried.turn_id, carried.note) == (None, "Python 3.8 only")


def test_a_turn_of_which_the_model_saw_nothing_is_carried_without_items() -> None:
    state = started(turns=1).state
    carried = [type(event) for event in carried_turn(state, state.turns[0], (), 0)]
    assert carried == [ev.TurnStarted, ev.EntryRecorded, ev.EntryRecorded, ev.TurnCompleted]


def test_new_with_pins_is_a_plain_new_where_nothing_is_pinned() -> None:
    thread = started(turns=1)
    thread.do(client(wire.ArchiveAndNew, pins=True))
    assert not thread.state.new_with_pins


def test_new_makes_an_id_for_the_successor_when_none_is_given() -> None:
    thread = started(turns=1)
    thread.do(client(wire.ArchiveAndNew))
    assert thread.state.new_thread_id == "id-5"
    assert thread.state.archived


@pytest.mark.parametrize("pins", [True, False])
def test_a_thread_in_which_nothing_was_said_is_not_replaced(pins: bool) -> None:
    new = client(wire.ArchiveAndNew, pins=pins)
    rejected = started().when(new).rejected(Reason.NOTHING_TO_TRIM)
    assert rejected.said == "Nothing to archive: nothing was said in this thread yet."


def test_what_is_pinned_in_an_empty_thread_is_left_behind_and_not_taken_along() -> None:
    thread = started()
    thread.do(client(wire.PinContext, note="Python 3.8 only"))
    thread.settle()
    thread.when(client(wire.ArchiveAndNew, pins=True)).rejected(Reason.NOTHING_TO_TRIM)
    thread.do(client(wire.ArchiveAndNew))
    assert thread.state.archived


def test_a_thread_whose_turns_were_cleared_or_taken_back_is_replaced() -> None:
    cleared, taken_back, adopted = started(turns=1), started(turns=1), given()
    cleared.clear()
    taken_back.revert(turn_count=0)
    adopted.do(create("adopted", "codex-thread-1"))
    for thread in (cleared, taken_back, adopted):
        thread.do(client(wire.ArchiveAndNew))
        assert thread.state.archived


def test_a_thread_is_replaced_once() -> None:
    thread = started(turns=1)
    thread.do(client(wire.ArchiveAndNew))
    rejected = thread.when(client(wire.ArchiveAndNew)).rejected(Reason.THREAD_ARCHIVED)
    assert (
        rejected.said
        == "The thread is archived; unarchive it to replace it. It continues as the thread id-5."
    )


def test_stopping_a_session_is_a_request_and_stopping_it_again_is_none() -> None:
    thread = started()
    thread.when(client(wire.StopSession)).then(ev.SessionStopRequested(1))
    thread.report(ev.SessionStopped(1))
    thread.when(client(wire.StopSession)).then()


def test_a_ready_session_is_not_started_again() -> None:
    started().when(client(wire.StartSession)).then()
    started().when(internal.OpenSession()).then()


@pytest.mark.parametrize("command", [client(wire.StartSession), internal.OpenSession()])
def test_a_stopped_session_is_started_by_an_operation(command: AnyCommand) -> None:
    thread = started()
    thread.report(ev.SessionStopped(1))
    operation_id = thread.stamp().id
    accepted = thread.when(command).then(
        ev.OperationStarted(operation_id, "start"), ev.SessionStartRequested(1)
    )
    assert accepted.operation_id == operation_id
    thread.do(command)
    thread.settle()
    assert not thread.state.session_stopped


def test_a_session_that_failed_to_start_after_a_clear_is_started_with_its_next_use() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.advance(Phase.FAILED)
    assert thread.do(internal.OpenSession()).events[1] == ev.SessionStartRequested(2)


def test_a_session_on_its_way_is_not_opened_twice() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.when(internal.OpenSession()).then()


def test_the_late_end_of_a_retired_session_does_not_wake_a_stopped_one() -> None:
    thread = started(turns=1)
    thread.clear()
    thread.report(ev.SessionStopped(2))
    thread.report(ev.SessionStopped(1, "a terminal was running"))
    assert thread.do(client(wire.StartSession)).operation_id


def test_a_clear_of_a_stopped_thread_leaves_its_new_session_pending_not_stopped() -> None:
    thread = started(turns=1)
    thread.report(ev.SessionStopped(1))
    thread.do(trim())
    assert not thread.state.session_stopped


def test_archiving_stops_the_session_and_is_done_once() -> None:
    thread = started()
    thread.when(client(wire.ArchiveThread)).then(ev.ThreadArchived(), ev.SessionStopRequested(1))
    thread.do(client(wire.ArchiveThread))
    thread.when(client(wire.ArchiveThread)).then()


@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("provider_thread_id", ["codex-thread-1", None])
def test_a_deletion_is_an_operation_that_ends_with_an_archived_thread(
    is_archived: bool, provider_thread_id: str | None
) -> None:
    thread = given()
    thread.do(create("started" if provider_thread_id else "new", provider_thread_id))
    if provider_thread_id is None:
        thread.advance(Phase.FAILED)
    if is_archived:
        thread.write(ev.ThreadArchived())
    thread.do(internal.DeleteThread())
    thread.when(internal.DeleteThread()).rejected(Reason.ALREADY_IN_PROGRESS)
    thread.advance(Phase.STOPPING)
    thread.advance(Phase.READY, ev.ThreadArchived(), ev.SessionStopped(1))
    assert (thread.state.archived, thread.state.session_stopped) == (True, True)
    assert thread.state.open_operation is None


def test_unarchiving_is_done_once() -> None:
    thread = started().write(ev.ThreadArchived())
    thread.when(client(wire.UnarchiveThread)).then(ev.ThreadUnarchived())
    thread.do(client(wire.UnarchiveThread))
    thread.when(client(wire.UnarchiveThread)).then()
    thread.when(client(wire.StopSession)).then(ev.SessionStopRequested(1))


@pytest.mark.parametrize("command", [client(wire.StopSession), client(wire.StartSession)])
def test_an_archived_thread_takes_no_session_command(command: AnyCommand) -> None:
    started().write(ev.ThreadArchived()).when(command).rejected(Reason.THREAD_ARCHIVED)


def test_a_thread_is_renamed_even_while_a_turn_runs() -> None:
    thread = started()
    thread.begin_turn()
    thread.when(client(wire.RenameThread, name="Better")).then(
        ev.ThreadRenamed("Better", unconfirmed=True)
    )


def test_each_step_of_an_operation_is_written_with_its_facts() -> None:
    thread = started(turns=1)
    operation_id = str(thread.do(trim()).operation_id)
    stopped = ev.SessionStopped(1)
    step = internal.AdvanceOperation(operation_id, Phase.STOPPING, "Stopping.", "", (stopped,))
    accepted = thread.when(step).then(
        stopped, ev.OperationAdvanced(operation_id, "stopping", "Stopping.")
    )
    assert accepted.operation_id == operation_id


def test_a_step_that_the_table_does_not_allow_is_refused() -> None:
    thread = started(turns=1)
    operation_id = str(thread.do(trim()).operation_id)
    thread.when(internal.AdvanceOperation(operation_id, Phase.BOOTSTRAPPING)).rejected(
        Reason.INTERNAL
    )


@pytest.mark.parametrize("end", [Phase.READY, Phase.FAILED])
def test_an_operation_ends_once(end: Phase) -> None:
    thread = started(turns=1)
    operation_id = str(thread.do(trim()).operation_id)
    thread.advance(Phase.STOPPING)
    thread.advance(Phase.STARTING)
    thread.advance(end, ev.ProviderThreadBound(2, "codex-thread-2"))
    thread.when(internal.AdvanceOperation(operation_id, Phase.FAILED)).rejected(Reason.INTERNAL)


def test_a_step_of_an_operation_that_is_not_open_is_refused() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.when(internal.AdvanceOperation("another", Phase.STOPPING)).rejected(Reason.INTERNAL)
    started().when(internal.AdvanceOperation("any", Phase.STOPPING)).rejected(Reason.INTERNAL)


def test_a_message_of_an_operation_stays_until_there_is_a_newer_one() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.advance(Phase.STOPPING, message="Stopping.")
    thread.advance(Phase.STARTING)
    assert thread.state.operation is not None
    assert thread.state.operation.message == "Stopping."


class Unheard(wire.ClientCommand, frozen=True, kw_only=True, tag="thread.unheard"):
    """A client command without a decision."""


@pytest.mark.parametrize("command", [Unheard(command_id="c", thread_id=THREAD), object()])
def test_a_command_without_a_rule_fails_loudly(command: AnyCommand) -> None:
    with pytest.raises(AssertionError):
        started().when(command)


def test_an_operation_is_not_ready_without_a_provider_thread() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.advance(Phase.STOPPING)
    thread.advance(Phase.STARTING)
    operation = thread.state.open_operation
    assert operation is not None
    thread.when(internal.AdvanceOperation(operation.id, Phase.READY)).rejected(Reason.INTERNAL)
