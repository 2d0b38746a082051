"""A short version of `scripts/chaos-fleet`."""

from pathlib import Path

import pytest

from tests.fleet.chaos import Plan, run

pytestmark = pytest.mark.processes


async def test_after_random_kills_of_servers_and_daemons_the_mirrors_are_as_the_journals(
    tmp_path: Path,
) -> None:
    outcome = await run(tmp_path, Plan(daemons=3, seconds=8, seed=7))
    assert outcome.wrong == []
    assert outcome.events > 0
