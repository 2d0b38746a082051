"""A long day with `auto = "mask"` and the real Codex: nobody thinks about the context, and each
call of the model is sent what a plain model of masks has.
"""

import dataclasses
import random
import re
from typing import Any

import msgspec
import pytest
from trimpoint.config.sections import ContextSection, DiscardSection
from trimpoint.core.context.active_context import is_preamble
from trimpoint.core.model.tokens import estimate_total
from trimpoint.testkit import ModelRequest, Reply, Usage, reasoning, run, say

from tests.e2e.conftest import Harness

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]

WINDOW, TURNS, KEPT_TURNS = 80_000, 45, 3
PLACEHOLDER = re.compile(r"\[output of [0-9,]+ tokens left the context\]")
Item = dict[str, Any]


class Day:
    """The script of a model that works: it runs commands, and reports the tokens that it was sent
    truly.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.steps = 0
        self.sizes: list[int] = []

    def turn(self) -> list[Any]:
        """Returns the replies of a turn: thoughts and commands with large outputs, then an answer."""
        count = self.chance.randint(2, 9)
        return [*(self._works for _ in range(count)), self._answers]

    def _works(self, request: ModelRequest) -> Reply:
        self.steps += 1
        lines = self.chance.choice((3, 40, 120, 250))
        command = f"for i in $(seq {lines}); do echo step-{self.steps}-line-$i; done"
        thought = reasoning("I look.", encrypted_content=f"sealed-{self.steps}")
        return dataclasses.replace(thought + run(command), usage=self._used(request))

    def _answers(self, request: ModelRequest) -> Reply:
        return say(f"answer after step {self.steps}.", usage=self._used(request))

    def _used(self, request: ModelRequest) -> Usage:
        size = 6_000 + estimate_total(msgspec.json.encode(item) for item in request.input)
        self.sizes.append(size)
        return Usage(input_tokens=size, output_tokens=60, cached_input_tokens=size // 2)


class PlainModel:
    """What the conversation is, each item as the model was first sent it, and which outputs are
    masked since.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.turns: list[int] = []  # of each item
        self.masked: set[int] = set()

    def take(self, request: ModelRequest, turn: int) -> set[int]:
        """Checks what a call was sent, and returns the outputs that are masked for the first time."""
        sent = [item for item in request.input if not is_preamble(item)]
        assert len(sent) >= len(self.items), "an item is gone"
        found: set[int] = set()
        for at, item in enumerate(sent):
            if at >= len(self.items):
                assert not _is_masked(item)
                self.items.append(item)
                self.turns.append(turn)
            elif _is_masked(item):
                found.add(at)
                assert {**item, "output": ""} == {**self.items[at], "output": ""}
            else:
                assert item == self.items[at]
        assert self.masked <= found, "a masked output has come back"
        new, self.masked = found - self.masked, found
        return new


def _is_masked(item: Item) -> bool:
    return isinstance(item.get("output"), str) and bool(PLACEHOLDER.fullmatch(item["output"]))


@pytest.mark.thorough("a day of some 300 calls of the model")
@pytest.mark.parametrize("seed", [1])
async def test_nobody_thinks_about_the_context_all_day(harness: Harness, seed: int) -> None:
    harness.config = msgspec.structs.replace(
        harness.config,
        context=ContextSection(auto="mask"),
        discard=DiscardSection(floor_tokens=2_000, target_tokens=4_000),
    )
    harness.overrides.append(f"model_context_window={WINDOW}")
    day, plain, acts = Day(seed), PlainModel(), 0
    async with harness.conversation() as talk:
        for turn in range(TURNS):
            before = len(talk.model.requests)
            talk.script.then(*day.turn())
            done = await talk.prompt(f"prompt-{turn}.")
            assert done["status"] == "completed", done
            new = [plain.take(one, turn) for one in talk.model.requests[before:]]
            # Between turns only, and never what the newest turns have.
            assert not any(new[1:])
            assert all(plain.turns[at] < turn - KEPT_TURNS for at in new[0])
            acts += bool(new[0])
        said = [
            one["params"]["message"] for one in talk.notifications if one["method"] == "warning"
        ]
        told = [one for one in said if one.startswith("Masked automatically")]
        last = len(plain.masked)
        await talk.complete("/undo --force")
        talk.script.then(say("seen.", usage=Usage(input_tokens=20_000)))
        await talk.prompt("after the undo.")
        sent = [item for item in talk.model.requests[-1].input if not is_preamble(item)]
    assert {one.kind for one in talk.model.requests} == {"turn"}, "nothing was compacted"
    assert day.steps > 200
    assert acts > 3
    assert len(told) == acts
    assert all(one.endswith(" /undo brings it back.") for one in told)
    assert max(day.sizes) < WINDOW
    left = [at for at, item in enumerate(sent) if _is_masked(item)]
    assert 0 < len(left) < last
    back = [at for at in range(len(plain.items)) if at not in left]
    assert [sent[at] for at in back] == [plain.items[at] for at in back]
