"""Whatever a seed does to a daemon, what must hold does; and planted defects are found."""

import os

import pytest

from tests.effort import few
from tests.simulation.defects import DEFECTS, Plant
from tests.simulation.loop import few_collections
from tests.simulation.world import simulate

# A seed takes 8 ms; TRIMPOINT_SEEDS=10000 for more, and `python -m tests.simulation` for other ones.
SEEDS = int(os.environ.get("TRIMPOINT_SEEDS") or (2_000 if few() else 4_000))
PIECES = 3
# Far from the first ones, and not held once.
FOUND = (200_255,)


@pytest.mark.parametrize("first", range(PIECES))
def test_what_must_hold_does_for_every_seed(first: int) -> None:
    with few_collections():
        for seed in range(first, SEEDS, PIECES):
            simulate(seed)


def test_what_must_hold_does_for_the_seeds_that_found_something() -> None:
    for seed in FOUND:
        simulate(seed)


@pytest.mark.processes  # it starts none, but takes minutes
@pytest.mark.thorough("each defect takes some thousand seeds")
@pytest.mark.parametrize("plant", DEFECTS, ids=lambda one: one.__name__)
def test_a_defect_is_found_by_some_seed(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    assert any(map(fails, range(DEFECTS[plant])))


def fails(seed: int) -> bool:
    try:
        simulate(seed)
    except Exception:  # a defect may show itself in any way
        return True
    return False
