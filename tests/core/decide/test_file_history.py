"""The authors of the files' changes: the states captured since the target of a revert."""

from trimpoint.core.decide.file_history import LATE, FileHistory, Leg, file_history
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Reverting
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, client, started


def captured_turn(thread: Conversation, before: str | None, after: str | None, *notes: str) -> str:
    """Runs a turn with these commits before and after it; None for a missing checkpoint."""
    turn = thread.begin_turn()
    if before is not None:
        thread.report(ev.CheckpointCaptured(turn, "before", "/work", "ref", before, notes))
    thread.report(ev.TurnCompleted(turn, "completed"))
    if after is not None:
        thread.report(ev.CheckpointCaptured(turn, "after", "/work", "ref", after))
    return turn


def history(thread: Conversation, **arguments: object) -> FileHistory:
    """Returns the file history of a revert that is requested now."""
    thread.do(client(wire.RevertToCheckpoint, **arguments))
    operation = thread.state.open_operation
    assert operation is not None
    assert operation.reverting is not None
    return file_history(thread.state, operation.reverting)


def test_changes_between_turns_are_attributed_to_others() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    captured_turn(thread, "b2", "a2")
    assert history(thread, turn_count=0) == FileHistory(
        "b1", [Leg("a1", "thread"), Leg("b2", "others"), Leg("a2", "thread")], "others"
    )


def test_a_revert_of_the_last_turn_begins_where_that_turn_began() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    captured_turn(thread, "b2", "a2")
    assert history(thread, turn_count=1) == FileHistory("b2", [Leg("a2", "thread")], "others")


def test_a_baseline_that_is_as_the_turn_before_left_it_needs_no_checkpoint() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    captured_turn(thread, None, "a2")
    assert history(thread, turn_count=1) == FileHistory("a1", [Leg("a2", "thread")], "others")


def test_a_late_baseline_may_hold_changes_of_the_turn() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    captured_turn(thread, "b2", "a2", LATE)
    assert history(thread, turn_count=1) == FileHistory(
        "a1", [Leg("b2", "unknown"), Leg("a2", "thread")], "others"
    )


def test_a_turn_without_a_capture_at_its_end_leaves_the_author_unknown() -> None:
    thread = started()
    captured_turn(thread, "b1", None)
    captured_turn(thread, "b2", None)
    assert history(thread, turn_count=0) == FileHistory("b1", [Leg("b2", "unknown")], "unknown")


def test_a_capture_that_failed_leaves_a_doubt() -> None:
    thread = started()
    turn = captured_turn(thread, "b1", None)
    thread.report(ev.CheckpointFailed(turn, "after", "disk full"))
    second = captured_turn(thread, None, None)
    thread.report(ev.CheckpointFailed(second, "before", "disk full"))
    thread.report(ev.CheckpointCaptured(second, "after", "/work", "ref", "a2"))
    third = captured_turn(thread, None, "a3")
    thread.report(ev.CheckpointFailed(third, "before", "disk full"))
    found = history(thread, turn_count=0)
    assert found == FileHistory("b1", [Leg("a2", "unknown"), Leg("a3", "thread")], "unknown")


def test_reverts_are_the_threads_own_doing_and_what_was_there_before_is_not() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    captured_turn(thread, "b2", "a2")
    thread.revert(turn_count=1, scope="files+context")
    safety = thread.state.checkpoints[-2].commit
    captured_turn(thread, "b3", "a3")
    found = history(thread, turn_count=0)
    assert found.legs == [
        Leg("a1", "thread"), Leg("b2", "others"), Leg("a2", "thread"), Leg(safety, "others"), Leg("planned", "thread"),
        Leg("b3", "others"), Leg("a3", "thread"),
    ]  # fmt: skip
    thread.finish_revert()
    assert history(thread, undo=True).legs == [Leg("planned", "thread")]


def test_changes_found_after_a_daemon_was_away_have_an_unknown_author() -> None:
    thread = started()
    turn = captured_turn(thread, "b1", "a1")
    thread.report(ev.CheckpointCaptured(turn, "found", "/work", "ref", "f1"))
    assert history(thread, turn_count=0).legs == [Leg("a1", "thread"), Leg("f1", "found")]


def test_checkpoints_of_another_worktree_do_not_count() -> None:
    thread = started()
    captured_turn(thread, "b1", "a1")
    second = captured_turn(thread, None, None)
    thread.report(ev.CheckpointCaptured(second, "after", "/elsewhere", "ref", "e2"))
    assert history(thread, turn_count=0).legs == [Leg("a1", "thread")]


def test_the_author_is_unknown_without_the_target_checkpoint() -> None:
    thread = started()
    turn = captured_turn(thread, "b1", "a1")
    assert file_history(
        thread.state, Reverting(turn, "files+context", False, False, "/work", "gone")
    ) == FileHistory("gone", [], "unknown")
