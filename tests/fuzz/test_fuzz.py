"""A few seconds of the input that `scripts/fuzz` sends for minutes."""

import json

import pytest

from tests.e2e.conftest import longer, opened_harness
from tests.fuzz.campaign import run_campaign
from tests.fuzz.nonsense import Nonsense

pytestmark = pytest.mark.codex


async def test_nonsense_is_answered_and_other_clients_are_served() -> None:
    async with opened_harness() as harness:
        clients = 25 * longer()
        assert await run_campaign(harness, 1, clients=clients) == clients


def test_a_seed_says_the_same_thing_again_and_another_something_else() -> None:
    said = [[Nonsense(seed, "t").something() for _ in range(1)] for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


def test_only_requests_are_owed_an_answer() -> None:
    nonsense = Nonsense(5, "t")
    owed = [said for said in (nonsense.something() for _ in range(300)) if said.owed]
    assert len(owed) > 50
    for said in owed:
        decoded = json.loads(said.data)
        members = decoded if isinstance(decoded, list) else [decoded]
        assert tuple(member["id"] for member in members if "method" in member) == said.owed
