"""Random walks through one conversation, each step compared with a model in plain Python
(docs/spec/traps.md: trims in any order).

A walk is named by its seed; a failure prints the seed and the steps. `TRIMPOINT_E2E_LONG=n` makes
walks n times as long.
"""

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.context.walking import Walk
from tests.effort import longer

pytestmark = pytest.mark.codex

STEPS = 24
SEEDS = range(2 * longer())
SEALED_SEEDS = range(1000, 1000 + longer())


async def _walk(harness: Harness, seed: int, *, sealed: bool) -> None:
    walk = Walk(harness, seed, sealed=sealed)
    try:
        await walk.begin()
        await walk.step(walk.turn)
        for _ in range(STEPS):
            await walk.step(walk.choose())
        await walk.step(walk.turn)
    except BaseException as error:
        error.add_note(f"seed {seed}, after {walk.steps}")
        raise
    finally:
        await walk.end()


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_step_leaves_exactly_the_expected_context_counts_and_timeline(
    harness: Harness, seed: int
) -> None:
    await _walk(harness, seed, sealed=False)


@pytest.mark.parametrize("seed", SEALED_SEEDS)
async def test_the_same_with_a_provider_that_seals_its_summaries(
    sealed_harness: Harness, seed: int
) -> None:
    await _walk(sealed_harness, seed, sealed=True)
