"""A long context whose size Codex has not reported is weighed seldom, and beside the loop."""

from collections.abc import Iterable
from threading import get_ident
from typing import Any

import msgspec
import pytest
from trimpoint.core.context import context_size
from trimpoint.core.model import events as ev
from trimpoint.core.model import tokens
from trimpoint.core.views.meter import context_status
from trimpoint.gateway.session.requests.dispatch import Call

from tests.operations.stage import opened_stage
from tests.threads.stage import THREAD, turn

TURNS = 200


def whole(turn_id: str) -> tuple[ev.AnyEvent, ...]:
    content = [{"type": "input_text", "text": "hello " * 20}]
    item = msgspec.json.encode({"type": "message", "role": "user", "content": content})
    started, entry, ended = turn(turn_id)
    return started, entry, ev.ContextItemsRecorded(turn_id, (item,)), ended


@pytest.fixture
def weighed_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects the thread of each weighing of a whole context."""
    threads: list[int] = []
    inner = tokens.estimate_total

    def estimate_total(items: Iterable[bytes]) -> int:
        threads.append(get_ident())
        return inner(items)

    monkeypatch.setattr(context_size, "estimate_total", estimate_total)
    return threads


async def test_many_records_of_a_long_context_cost_few_weighings_and_none_on_the_loop(
    weighed_in: list[int],
) -> None:
    async with opened_stage() as stage:
        writer = await stage.thread()
        writer.record_facts(*(fact for number in range(TURNS) for fact in whole(f"T{number}")))
        await writer.flush()
        await stage.hears("context/updated")
        weighed_in.clear()
        for number in range(TURNS, TURNS + 100):
            writer.record_facts(*whole(f"T{number}"))
        await writer.flush()
        heard = stage.client.methods().count("context/updated")
        await stage.hears("context/updated", heard + 1)
        assert get_ident() not in weighed_in
        assert len(weighed_in) <= 3
        told: Any = stage.client.received[-1]["params"]
        assert told["usedTokens"] == context_status(writer.state, stage.registry.policy).used_tokens


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("context/status", {}),
        ("orchestration/snapshot", {"turns": 5}),
        ("orchestration/subscribeThread", {"turns": 5}),
        ("commands/execute", {"text": "/clear 3 --dry-run"}),
        ("commands/execute", {"text": "/compress 40000 --dry-run"}),
    ],
)
async def test_a_request_about_a_long_context_weighs_it_beside_the_loop(
    weighed_in: list[int], method: str, params: dict[str, Any]
) -> None:
    async with opened_stage() as stage:
        writer = await stage.thread()
        writer.record_facts(*(fact for number in range(TURNS) for fact in whole(f"T{number}")))
        await writer.flush()
        await stage.hears("context/updated")
        weighed_in.clear()
        asked = msgspec.Raw(msgspec.json.encode({"threadId": THREAD, **params}))
        answer = await stage.routes.extensions.call(method, asked, Call(stage.client.client))
        assert answer.error is None
        assert get_ident() not in weighed_in


async def test_a_size_that_codex_has_reported_is_reported_at_once(weighed_in: list[int]) -> None:
    async with opened_stage() as stage:
        writer = await stage.thread()
        writer.record_facts(*(fact for number in range(TURNS) for fact in whole(f"T{number}")))
        writer.record_facts(ev.UsageReported("T0", 1_000, 1_000, 200_000))
        await writer.flush()
        weighed_in.clear()
        writer.record_facts(*whole("T"), ev.UsageReported("T", 2_000, 3_000, 200_000))
        await writer.flush()
        await stage.hears("context/updated")
        assert weighed_in == []
