"""Requests are cancelled, and their partial results delivered, by the ids of the client that sent them."""

from typing import Any

import anyio
import pytest
from trimpoint.gateway.ids.handle_types import CANCELS, Cancel
from trimpoint.gateway.session.requests.request import ClientRequest

from tests.gateway.ids.stage import NOTHING, Setup

CANCELLED = [(cancel, method) for cancel in CANCELS for method in cancel.requests]
PARTIAL = "thread/search/partial"


@pytest.mark.parametrize(("cancel", "method"), CANCELLED)
async def test_a_request_is_cancelled_by_its_own_client_under_codexs_id(
    cancel: Cancel, method: str
) -> None:
    setup = Setup()
    mine, other = setup.fake_client(), setup.fake_client()
    release = setup.codex.holds[method] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for fake_client in (other, mine):
            tasks.start_soon(setup.send, fake_client, method, NOTHING, "r")
            await anyio.wait_all_tasks_blocked()
        await setup.ask(mine, cancel.method, requestId="r", more=1)
        await setup.ask(other, cancel.method, requestId="r")
        release.set()
    await setup.ask(mine, cancel.method, requestId="r")
    asked = [params for name, params in setup.codex.asked if name == cancel.method]
    assert asked == [
        {"requestId": 2, "more": 1},
        {"requestId": 1},
        {"requestId": f'trimpoint-{mine.client.id}/"r"'},
    ]


async def test_a_cancel_ends_only_what_it_is_for_and_never_a_request_of_ours() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    release = setup.codex.holds["thread/search"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setup.send, fake_client, "thread/search", NOTHING, -5)
        await anyio.wait_all_tasks_blocked()
        await setup.ask(fake_client, "thread/sample/cancel", requestId=-5)
        await setup.ask(fake_client, "thread/search/cancel", requestId=1)
        await setup.ask(fake_client, "thread/search/cancel", requestId=-5)
        release.set()
    asked = [params["requestId"] for _, params in setup.codex.asked[1:]]
    assert asked == [
        f"trimpoint-{fake_client.client.id}/-5",
        f"trimpoint-{fake_client.client.id}/1",
        1,
    ]


@pytest.mark.parametrize(
    "params", [{"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}, {}, None]
)
async def test_an_id_that_is_none_is_left_to_codex(params: Any) -> None:
    setup = Setup()
    await setup.send(setup.fake_client(), "thread/search/cancel", params)
    assert setup.codex.asked == [("thread/search/cancel", params)]


async def test_a_cancel_waits_until_its_request_has_gone_out() -> None:
    setup = Setup()
    fake_client, ready = setup.fake_client(), anyio.Event()

    async def handle(exchange: ClientRequest) -> Any:
        await ready.wait()
        return await setup.codex.handle(exchange)

    setup.table = setup.handles.wrap({"thread/sample": handle}, setup.codex.handle)
    setup.codex.holds["thread/sample"] = release = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setup.send, fake_client, "thread/sample", NOTHING, "r")
        tasks.start_soon(setup.send, fake_client, "thread/sample/cancel", {"requestId": "r"}, "c")
        await anyio.wait_all_tasks_blocked()
        assert setup.codex.asked == []
        ready.set()
        await anyio.wait_all_tasks_blocked()
        assert setup.codex.asked[1] == ("thread/sample/cancel", {"requestId": 1})
        release.set()


async def test_a_request_under_way_is_cancelled_when_its_client_goes_and_one_that_goes_out_later_too() -> (
    None
):
    setup = Setup()
    fake_client, ready = setup.fake_client(), anyio.Event()

    async def handle(exchange: ClientRequest) -> Any:
        await ready.wait()
        return await setup.codex.handle(exchange)

    setup.table = setup.handles.wrap({"thread/sample": handle}, setup.codex.handle)
    release = setup.codex.holds["thread/search"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setup.send, fake_client, "thread/search", NOTHING, "a")
        tasks.start_soon(setup.send, fake_client, "thread/sample", NOTHING, "b")
        await anyio.wait_all_tasks_blocked()
        assert setup.leave(fake_client) == [("thread/search/cancel", {"requestId": 1})]
        ready.set()
        await anyio.wait_all_tasks_blocked()
        sent_as = [name for name, _ in setup.codex.asked].index("thread/sample") + 1
        assert setup.codex.asked[-1] == ("thread/sample/cancel", {"requestId": sent_as})
        release.set()


async def test_partial_results_reach_the_client_whose_request_they_belong_to() -> None:
    setup = Setup()
    one, two = setup.fake_client(), setup.fake_client()
    release = setup.codex.holds["thread/search/stream"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for fake_client in (one, two):
            tasks.start_soon(setup.send, fake_client, "thread/search/stream", NOTHING, "s")
            await anyio.wait_all_tasks_blocked()
        assert setup.say(PARTIAL, requestId=2, data=["provider"])
        assert one.received == []
        assert two.received == [
            {"method": PARTIAL, "params": {"requestId": "s", "data": ["stable"]}, "emittedAtMs": 1}
        ]
        release.set()
    two.received.clear()
    assert setup.say(PARTIAL, requestId=2, data=[])
    assert one.received[1:] == two.received == []
