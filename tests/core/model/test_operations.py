"""The table of phases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.core.model.operations import SUCCESSORS, Phase, is_open, may_follow


def test_every_phase_is_in_the_table() -> None:
    assert set(SUCCESSORS) == set(Phase)


def test_only_ready_failed_and_cancelled_end_an_operation() -> None:
    assert {phase for phase in Phase if not is_open(phase)} == {
        Phase.READY,
        Phase.FAILED,
        Phase.CANCELLED,
    }


@pytest.mark.parametrize("phase", [phase for phase in Phase if is_open(phase)])
def test_every_open_phase_can_fail(phase: Phase) -> None:
    assert may_follow(phase, Phase.FAILED)


def test_no_phase_leads_back_to_requested() -> None:
    assert not any(may_follow(phase, Phase.REQUESTED) for phase in Phase)


def test_the_context_is_never_touched_before_a_compaction_is_done() -> None:
    assert SUCCESSORS[Phase.COMPACTING] == {
        Phase.STOPPING,
        Phase.RETRYING,
        Phase.READY,
        Phase.FAILED,
        Phase.CANCELLED,
    }
    assert SUCCESSORS[Phase.RETRYING] == {Phase.READY, Phase.FAILED}


@given(st.sampled_from(Phase))
def test_from_every_open_phase_there_is_a_way_to_the_end(phase: Phase) -> None:
    reached, edge = {phase}, {phase}
    while edge:
        edge = {following for current in edge for following in SUCCESSORS[current]} - reached
        reached |= edge
    assert not is_open(phase) or {Phase.READY, Phase.FAILED} <= reached
