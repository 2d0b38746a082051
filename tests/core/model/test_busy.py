"""When a thread is busy, and the commands that are refused then."""

from collections.abc import Callable

import pytest
from trimpoint.core.decide.decider import AnyCommand
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import BusyReason, busy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, compact, started, trim

NEEDS_AN_IDLE_THREAD = [
    trim(1),
    compact(force=True),
    client(wire.ArchiveAndNew),
    client(wire.StopSession),
    client(wire.StartSession),
    client(wire.ArchiveThread),
]


def request_a_turn(thread: Conversation) -> BusyReason:
    since = thread.now_ms
    thread.write(ev.TurnRequested("request-1"))
    return BusyReason("turn", "request-1", since, "starting")


def let_the_provider_take_a_turn(thread: Conversation) -> BusyReason:
    since = thread.now_ms
    thread.write(ev.TurnRequested("request-1"))
    thread.write(ev.TurnRequestEnded("request-1", "turn-9"))
    return BusyReason("turn", "turn-9", since, "starting")


def run_a_turn(thread: Conversation) -> BusyReason:
    since = thread.now_ms
    return BusyReason("turn", thread.begin_turn(), since, "running")


def run_an_operation(thread: Conversation) -> BusyReason:
    since = thread.now_ms
    return BusyReason("operation", str(thread.do(trim()).operation_id), since, "clear")


def ask_a_question(thread: Conversation) -> BusyReason:
    since = thread.now_ms
    thread.report(ev.RequestOpened("0", "item/commandExecution/requestApproval"))
    return BusyReason("request", "0", since, "item/commandExecution/requestApproval")


BLOCKERS: dict[Callable[[Conversation], BusyReason], tuple[Reason, str]] = {
    request_a_turn: (Reason.TURN_IN_PROGRESS, "a turn is running"),
    let_the_provider_take_a_turn: (Reason.TURN_IN_PROGRESS, "a turn is running"),
    run_a_turn: (Reason.TURN_IN_PROGRESS, "a turn is running"),
    run_an_operation: (Reason.ALREADY_IN_PROGRESS, "its clear operation is still under way"),
    ask_a_question: (
        Reason.REQUEST_PENDING,
        "the agent waits for an answer (item/commandExecution/requestApproval)",
    ),
}


@pytest.mark.parametrize("block", BLOCKERS)
@pytest.mark.parametrize("command", NEEDS_AN_IDLE_THREAD)
def test_a_busy_thread_refuses_and_names_the_blocker_and_since_when(
    block: Callable[[Conversation], BusyReason], command: AnyCommand
) -> None:
    thread = started(turns=3)
    expected = block(thread)
    reason, why = BLOCKERS[block]
    rejected = thread.when(command).rejected(reason)
    assert rejected.block == expected == busy(thread.state)
    assert f" the thread now: {why}. " in rejected.message


def test_an_idle_thread_is_not_busy() -> None:
    assert busy(started(turns=3).state) is None


def test_a_refused_turn_request_leaves_the_thread_idle() -> None:
    thread = started().write(ev.TurnRequested("request-1"))
    thread.report(ev.TurnRequestEnded("request-1", error="overloaded"))
    assert busy(thread.state) is None


def test_the_thread_stays_busy_without_a_gap_from_the_request_to_the_end_of_its_turn() -> None:
    thread = started()
    for event in (
        ev.TurnRequested("request-1"),
        ev.TurnRequestEnded("request-1", "turn-1"),
        ev.TurnStarted("turn-1", 1),
    ):
        thread.report(event)
        assert busy(thread.state) is not None
    thread.report(ev.TurnCompleted("turn-1", "completed"))
    assert busy(thread.state) is None


def test_an_answer_that_comes_after_its_turn_began_makes_nothing_wait() -> None:
    thread = started()
    thread.report(ev.TurnRequested("request-1"), ev.TurnStarted("turn-1", 1))
    thread.report(
        ev.TurnRequestEnded("request-1", "turn-1"), ev.TurnCompleted("turn-1", "completed")
    )
    assert busy(thread.state) is None


def test_of_several_questions_the_oldest_is_named() -> None:
    thread = started()
    thread.report(ev.RequestOpened("0", "first"))
    thread.report(ev.RequestOpened("1", "second"))
    assert busy(thread.state) == BusyReason("request", "0", thread.now_ms - 2_000, "first")
    thread.report(ev.RequestClosed("0", "answered"))
    assert busy(thread.state) == BusyReason("request", "1", thread.now_ms - 2_000, "second")


def test_abandoned_work_ends_each_once_and_leaves_the_thread_idle() -> None:
    thread = started()
    thread.begin_turn()
    thread.report(ev.TurnRequested("request-1"), ev.RequestOpened("0", "approval"))
    thread.write(ev.TurnRequested("request-2")).write(ev.TurnRequestEnded("request-2", "turn-9"))
    gone = internal.AbandonOpenWork("codex died")
    thread.when(gone).then(
        ev.TurnRequestEnded("request-1", None, "codex died"),
        ev.TurnRequestEnded("turn-9", None, "codex died"),
        ev.TurnCompleted("turn-1", "interrupted", "codex died", items_heard=False),
        ev.RequestClosed("0", "expired"),
    )
    thread.do(gone)
    assert busy(thread.state) is None
    thread.when(gone).then()


def test_abandoned_work_leaves_an_open_operation_to_its_reactor() -> None:
    thread = started(turns=1)
    thread.do(trim())
    thread.do(internal.AbandonOpenWork("the daemon was restarted"))
    assert thread.state.open_operation is not None


def test_a_sub_agent_at_work_is_not_said_to_wait_for_an_answer() -> None:
    thread = started(turns=1)
    thread.report(ev.RequestOpened("sub", "subAgent"))
    message = thread.when(client(wire.TrimContext)).rejected(Reason.REQUEST_PENDING).message
    assert (
        message
        == "Cannot clear the thread now: a sub-agent is still at work. Try again when it has ended."
    )


@pytest.mark.parametrize(
    ("kind", "phase", "expected"),
    [
        ("compact", Phase.REQUESTED, True),
        ("compact", Phase.COMPACTING, True),
        ("compact", Phase.STOPPING, False),
        ("overflow", Phase.COMPACTING, True),
        ("overflow", Phase.RETRYING, False),
        ("clear", Phase.REQUESTED, False),
    ],
)
def test_an_operation_awaits_a_summary_until_it_has_one(
    kind: str, phase: Phase, *, expected: bool
) -> None:
    assert Operation("o1", kind, phase, 0).is_summarizing is expected
