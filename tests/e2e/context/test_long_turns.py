"""What masks within turns save in a long turn of the real Codex. The figures of
docs/internals/benchmarks.md are those that this test prints (`-s`).
"""

import dataclasses
from itertools import takewhile
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import ContextSection
from trimpoint.testkit import ModelRequest, Reply, Script, Usage, run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import opened_harness
from tests.e2e.context.within import begin

pytestmark = pytest.mark.codex

CALLS = 70
LINES = "seq -f 'line %06.0f of {} and some more words here' 240"
OVERHEAD_TOKENS = 12_000
CACHED_PRICE = 0.1


class LongTurn(Script):
    """Runs `CALLS` commands. It weighs what it is sent at four bytes a token, and has cached what
    it was sent before with the same key.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent = self.cached = self.fullest = self.requests = 0
        self._last: tuple[Any, list[bytes]] = ("", [])

    @property
    def price(self) -> float:
        return self.sent - self.cached + CACHED_PRICE * self.cached

    def __call__(self, request: ModelRequest) -> Reply:
        items, key = (
            [msgspec.json.encode(item) for item in request.input],
            request.body.get("prompt_cache_key"),
        )
        size, cached = _weight(items), 0
        if key == self._last[0]:
            both = zip(items, self._last[1], strict=False)
            cached = _weight([one for one, _ in takewhile(lambda pair: pair[0] == pair[1], both)])
        self._last = key, items
        self.sent, self.cached = self.sent + size, self.cached + cached
        self.fullest, self.requests = max(self.fullest, size), self.requests + 1
        usage = Usage(input_tokens=size, cached_input_tokens=cached, output_tokens=60)
        ran = outputs_in(request)
        reply = run(LINES.format(ran)) if ran < CALLS else say("done.")
        return dataclasses.replace(reply, usage=usage)


def _weight(items: list[bytes]) -> int:
    return OVERHEAD_TOKENS + sum(map(len, items)) // 4


def outputs_in(request: ModelRequest) -> int:
    return sum("output" in item for item in request.input)


async def work(*, mid_turn: bool) -> LongTurn:
    script = LongTurn()
    async with opened_harness(script=script) as harness:
        context = ContextSection(auto="mask", mid_turn=mid_turn)
        harness.config = msgspec.structs.replace(harness.config, context=context)
        async with harness.conversation() as talk:
            await begin(talk)
            with anyio.fail_after(SCENARIO_S):
                await talk.model.wait_for_request(lambda one: outputs_in(one) == CALLS)
    print(script.requests, script.sent, script.cached, round(script.price), script.fullest)
    return script


async def test_a_long_turn_sends_less_and_costs_less_with_masks_within_it() -> None:
    without, masked = await work(mid_turn=False), await work(mid_turn=True)
    assert without.requests in (CALLS + 1, CALLS + 2)
    assert masked.sent < 0.85 * without.sent
    assert masked.price < 0.95 * without.price
    assert masked.fullest < 0.85 * without.fullest
