"""The study of policies: its sessions have the public shape, and its bars are met."""

import pytest
from trimpoint.core.model.decision import Policy

from benchmarks.studies.policies import made_sessions, missed, shape, study, variants

BARS = 4
"""The policies, of all in the table, that have bars."""


def test_the_sessions_have_the_shape_of_public_ones() -> None:
    sessions = [story for seed in (1, 2, 3) for story in made_sessions(seed)]
    calls, long, outputs = shape(sessions)
    assert calls / 3 == pytest.approx(33_353, rel=0.1)
    assert long / 3 == pytest.approx(111, rel=0.1)
    assert outputs == pytest.approx(0.71, abs=0.03)


def test_masks_save_what_the_bars_ask_for() -> None:
    assert missed(study(made_sessions(1), variants(Policy())[:BARS])) == []


def test_a_bar_that_is_missed_is_named() -> None:
    unwilling = Policy(min_freed=1.0)
    found = missed(study(made_sessions(2, 60), variants(unwilling)[:BARS]))
    assert {line.partition(":")[0] for line in found} >= {"masks between turns", "compactions"}
