"""Turns are taken back: those of the present provider thread, and those that were carried into
it.
"""

from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint_protocol.errors import Reason

from tests.core.given import given, started


def revert(turn_id: str, *, provider_did: bool = False) -> internal.RollBackTurns:
    return internal.RollBackTurns(turn_id, provider_did)


def test_turns_that_the_provider_took_back_leave_the_ledger() -> None:
    thread = started(turns=3)
    second = thread.state.turns[1].id
    thread.when(revert(second, provider_did=True)).then(ev.TurnsRolledBack(second))
    thread.do(revert(second, provider_did=True))
    assert [turn.id for turn in thread.state.turns] == [thread.state.turns[0].id]
    assert {entry.turn_id for entry in thread.state.entries} == {thread.state.turns[0].id}
    assert second not in thread.state.turn_index
    assert thread.replayed() == thread.state


def test_a_turn_that_was_taken_back_is_not_taken_back_again() -> None:
    thread = started(turns=1)
    thread.when(revert("turn-unknown", provider_did=True)).then()


def test_a_carried_turn_is_taken_back_by_a_new_generation_with_what_is_left() -> None:
    thread = started(turns=4)
    thread.clear(3)
    turns = [turn.id for turn in thread.state.turns]
    thread.do(revert(turns[2]))
    assert thread.state.generation.reason == "revert"
    assert thread.state.generation.turn_ids == (turns[1],)
    assert thread.state.generation.bootstrap == "turns"
    assert [turn.id for turn in thread.state.active_turns] == [turns[1]]


def test_a_summary_stays_when_all_turns_after_it_are_taken_back() -> None:
    thread = started(turns=4)
    thread.compact("the gist", keep=1)
    thread.do(revert(thread.state.turns[3].id))
    assert (thread.state.generation.bootstrap, thread.state.generation.summary) == (
        "summary",
        "the gist",
    )


def test_taking_back_the_first_turn_empties_the_ledger() -> None:
    thread = started(turns=2)
    thread.do(revert(thread.state.turns[0].id))
    assert thread.state.generation.bootstrap == "none"
    assert thread.state.entries == []


def test_an_unknown_turn_is_out_of_reach() -> None:
    started(turns=3).when(revert("turn-unknown")).rejected(Reason.NOT_SUPPORTED)


def test_a_pruned_turn_brings_back_the_context_that_was_active_then() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turns(2)
    thread.clear()
    turns = [turn.id for turn in thread.state.turns]
    thread.do(revert(turns[4]))
    assert thread.state.generation.turn_ids == (turns[2], turns[3])
    assert len(thread.state.trim_points) == 1
    assert [turn.id for turn in thread.state.active_turns] == turns[2:4]


def test_back_before_the_first_trim_there_is_no_trim_point() -> None:
    thread = started(turns=3)
    thread.clear(1)
    turns = [turn.id for turn in thread.state.turns]
    thread.do(revert(turns[1]))
    assert thread.state.generation.turn_ids == (turns[0],)
    assert thread.state.trim_points == []


def test_a_busy_thread_is_not_reverted() -> None:
    thread = started(turns=2)
    thread.begin_turn()
    thread.when(revert(thread.state.turns[0].id)).rejected(Reason.TURN_IN_PROGRESS)


def test_a_revert_that_would_lose_a_sealed_summary_is_refused() -> None:
    thread = started(turns=4)
    thread.compact(None, keep=2)
    thread.when(revert(thread.state.turns[3].id)).rejected(Reason.NOT_SUPPORTED)


def test_an_unknown_thread_is_not_reverted() -> None:
    given().when(revert("turn-1")).rejected(Reason.THREAD_NOT_FOUND)
