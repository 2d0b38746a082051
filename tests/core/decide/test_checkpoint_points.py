"""A person's text for a moment, and the checkpoint that it names."""

import pytest
from trimpoint.core.decide.revisions import resolve_range, turn_files, turn_named
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Rejected
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, activity, started
from tests.core.reverting import revert


def conversation(turns: int = 3) -> tuple[Conversation, list[str], dict[str, str]]:
    """Returns a thread with a checkpoint before and after each turn, and the commits by names such
    as `2 before`.
    """
    thread, turn_ids, commits = started(), list[str](), dict[str, str]()
    for number in range(1, turns + 1):
        turn_ids.append(thread.turn(f"do  {number}\nplease", "done"))
        for moment in ("before", "after"):
            commits[f"{number} {moment}"] = thread.checkpoint(turn_ids[-1], moment)
    return thread, turn_ids, commits


def compared(
    thread: Conversation, older: str | None = None, newer: str | None = None
) -> tuple[str, str]:
    points = resolve_range(thread.state, older, newer)
    assert not isinstance(points, Rejected), points
    return points[0].commit, points[1].commit


def refused(thread: Conversation, older: str | None = None, newer: str | None = None) -> Rejected:
    points = resolve_range(thread.state, older, newer)
    assert isinstance(points, Rejected), points
    return points


def test_without_a_name_it_is_what_the_last_turn_changed() -> None:
    thread, _, commits = conversation()
    assert compared(thread) == (commits["3 before"], commits["3 after"])


def test_a_single_turn_is_compared_to_its_own_beginning() -> None:
    thread, turn_ids, commits = conversation()
    for name in ("2", turn_ids[1]):
        assert compared(thread, newer=name) == (commits["2 before"], commits["2 after"])


def test_two_turns_are_their_ends_in_either_order_and_0_is_before_the_first() -> None:
    thread, turn_ids, commits = conversation()
    assert compared(thread, "1", "3") == (commits["1 after"], commits["3 after"])
    assert compared(thread, "3", turn_ids[0]) == (commits["3 after"], commits["1 after"])
    assert compared(thread, "0", "1") == (commits["1 before"], commits["1 after"])
    points = resolve_range(thread.state, "0", "1")
    assert not isinstance(points, Rejected)
    assert [point.label for point in points] == ["before turn 1", "after turn 1"]


def test_now_is_compared_to_the_end_of_the_last_turn() -> None:
    thread, _, commits = conversation()
    assert compared(thread, newer="now") == (commits["3 after"], "")
    assert compared(thread, "now", "1") == ("", commits["1 after"])


def test_a_turn_that_runs_has_its_end_now() -> None:
    thread, _, _ = conversation()
    running = thread.begin_turn()
    baseline = thread.checkpoint(running, "before")
    for newer in (None, "4", running, "now"):
        assert compared(thread, newer=newer) == (baseline, "")


def test_a_commit_is_named_by_its_beginning() -> None:
    thread, _, commits = conversation()
    assert compared(thread, commits["1 before"], commits["2 after"]) == (
        commits["1 before"],
        commits["2 after"],
    )
    assert refused(thread, newer="commit").reason is Reason.TURN_NOT_FOUND


def test_a_single_commit_is_what_changed_until_then() -> None:
    thread, _, commits = conversation()
    assert compared(thread, newer=commits["2 after"]) == (commits["2 before"], commits["2 after"])
    # What others did between the turns.
    assert compared(thread, newer=commits["2 before"]) == (commits["1 after"], commits["2 before"])
    assert "before the first turn" in refused(thread, newer=commits["1 before"]).message
    thread.revert(turn_count=1, scope="files+context")
    safety = next(one.commit for one in thread.state.checkpoints if one.moment == "safety")
    assert compared(thread, newer=safety) == (commits["1 after"], safety)


def test_safety_is_the_state_before_the_last_revert() -> None:
    thread, _, commits = conversation()
    assert "no files were reverted" in refused(thread, "safety", "now").message
    thread.revert(turn_count=1, scope="files+context")
    safety, reverted = (one.commit for one in thread.state.checkpoints[-2:])
    assert reverted == "planned"
    assert safety not in commits.values()
    assert compared(thread, "safety", "now") == (safety, "")


@pytest.mark.parametrize("name", ["4", "99", "9" * 5000, "nonsense", "-1", "", "commit-none-such"])
def test_a_name_of_nothing_is_refused_with_what_there_is(name: str) -> None:
    thread, _, _ = conversation()
    rejected = refused(thread, newer=name)
    assert rejected.reason is Reason.TURN_NOT_FOUND
    assert "which has 3 turns" in rejected.message
    assert refused(thread, older=name, newer="1").reason is Reason.TURN_NOT_FOUND


def test_a_missing_checkpoint_is_reported_with_the_reason() -> None:
    assert "no turns yet" in refused(started()).message
    thread = started()
    first, second = thread.turn(), thread.turn()
    assert (
        refused(thread).message
        == "There is no checkpoint of the files after turn 2: none was made."
    )
    thread.report(ev.CheckpointFailed(second, "after", "The disk is full."))
    assert (
        refused(thread).message
        == "There is no checkpoint of the files after turn 2: The disk is full."
    )
    thread.checkpoint(second, "after")
    assert (
        refused(thread).message
        == "There is no checkpoint of the files before turn 2: The disk is full."
    )
    assert (
        "nothing before the first turn"
        in refused(thread, newer=thread.checkpoint(first, "before") and "0").message
    )


def test_a_reason_that_was_recorded_once_holds_for_later_turns() -> None:
    thread = started()
    first = thread.turn()
    thread.report(ev.CheckpointFailed(first, "before", "It is no repository."))
    thread.turn()
    thread.begin_turn()
    assert [row.problem for row in turn_files(thread.state)] == [
        "",
        "It is no repository.",
        "It is no repository.",
        "",
    ]


def test_neighbours_stand_in_for_checkpoints_that_were_not_made() -> None:
    thread = started()
    first, second = thread.turn(), thread.turn()
    left = thread.checkpoint(first, "after")
    made = thread.checkpoint(second, "after")
    assert compared(thread, newer="2") == (left, made)
    thread = started()
    first, second = thread.turn(), thread.turn()
    thread.report(ev.CheckpointFailed(first, "after", "The disk is full."))
    begun = thread.checkpoint(first, "before")
    baseline = thread.checkpoint(second, "before")
    assert compared(thread, newer="1") == (begun, baseline)
    row = list(turn_files(thread.state))[1]
    assert (row.problem, row.after and row.after.commit) == ("The disk is full.", baseline)


def test_rows_are_the_turns_and_the_time_before_them() -> None:
    thread, turn_ids, commits = conversation(2)
    silent = thread.begin_turn("")
    rows = list(turn_files(thread.state))
    assert [row.number for row in rows] == [0, 1, 2, 3]
    assert [row.turn and row.turn.id for row in rows] == [None, *turn_ids, silent]
    assert [row.prompt for row in rows[:3]] == ["", "do 1 please", "do 2 please"]
    assert [row.before and row.before.commit for row in rows] == [
        None,
        commits["1 before"],
        commits["2 before"],
        commits["2 after"],
    ]
    assert [row.after and row.after.commit for row in rows] == [
        commits["1 before"],
        commits["1 after"],
        commits["2 after"],
        None,
    ]
    assert [row.number for row in turn_files(thread.state, first=2)] == [2, 3]


def test_an_automatic_turn_has_no_prompt() -> None:
    thread = started()
    thread.report(ev.TurnStarted("by-itself", 1), activity("by-itself", "ls"))
    assert list(turn_files(thread.state))[1].prompt == ""


def test_rows_of_a_thread_without_turns_are_one() -> None:
    assert [(row.number, row.after) for row in turn_files(started().state)] == [(0, None)]


def target(thread: Conversation, name: str) -> str | None:
    """Returns the turn that a revert to `name` goes back to."""
    decision = thread.when(revert(turn_id=name)).decision
    assert isinstance(decision, Accepted), decision
    [requested] = [one for one in decision.events if isinstance(one, ev.RevertRequested)]
    return requested.turn_id


# --- ids that are pasted ----------------------------------------------------------------------


def test_a_turn_is_named_by_its_number_its_id_an_entry_or_the_checkpoint_after_it() -> None:
    thread, turn_ids, commits = conversation()
    short = thread.state.id[-8:]
    names = (
        "2",
        turn_ids[1],
        "h2.1",
        f"{short}:h2.2",
        f"{short[:4]}:h2.2",
        "m2.1",
        commits["2 after"],
    )
    for name in names:
        assert turn_named(thread.state, name) == 2, name
        assert target(thread, name) == turn_ids[1], name
        begin = commits["2 before"]
        assert compared(thread, newer=name) == (begin, commits["2 after"]), name
    assert turn_named(thread.state, commits["1 before"]) == 0
    # What others did between two turns belongs to the time before the later one.
    assert turn_named(thread.state, commits["3 before"]) == 2


def test_an_id_of_another_thread_or_of_no_turn_is_refused_with_a_way_on() -> None:
    thread, _, _ = conversation()
    for name, said in (
        ("00000000:h2.1", "an entry of another thread"),
        ("h9.1", "names no turn"),
        ("abcdef0", "names no turn"),
    ):
        found = turn_named(thread.state, name)
        assert isinstance(found, Rejected)
        assert said in found.message
    thread.revert(turn_count=1, scope="files+context")
    safety = next(one.commit for one in thread.state.checkpoints if one.moment == "safety")
    found = turn_named(thread.state, safety)
    assert isinstance(found, Rejected)
    assert [hint.command for hint in found.hints] == ["/revert --undo"]


def test_a_checkpoint_that_several_turns_share_names_the_last_of_them() -> None:
    thread = started()
    first, second, third = thread.turn(), thread.turn(), thread.turn()
    for turn_id, before, after in (
        (first, "aaaaaaa", "aaaaaaa"),
        (second, "aaaaaaa", "bbbbbbb"),
        (third, "bbbbbbb", "bbbbbbb"),
    ):
        for moment, commit in (("before", before), ("after", after)):
            thread.report(ev.CheckpointCaptured(turn_id, moment, "/work", "ref", commit))
    assert turn_named(thread.state, "aaaaaaa") == 1
    assert compared(thread, newer="aaaaaaa") == ("aaaaaaa", "aaaaaaa")
    assert turn_named(thread.state, "bbbbbbb") == 3
    assert compared(thread, newer="bbbbbbb") == ("bbbbbbb", "bbbbbbb")
