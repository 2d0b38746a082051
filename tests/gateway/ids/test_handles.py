"""Handles of clients are translated for Codex and back, with a Codex that records its requests."""

from typing import Any

import anyio
import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.ids.handle_types import HANDLE_TYPES, HandleType
from trimpoint.gateway.session.requests.request import ClientRequest

from tests.gateway.ids.stage import Setup

STARTS_THAT_LAST = [kind for kind in HANDLE_TYPES if kind.over != kind.starts]
USES = [
    (kind, method)
    for kind in HANDLE_TYPES
    for method in (kind.ends, *kind.uses)
    if method is not None
]
NEWS = [(kind, method) for kind in HANDLE_TYPES for method in kind.notifications]


@pytest.mark.parametrize("kind", HANDLE_TYPES, ids=lambda kind: kind.member)
async def test_codex_sees_another_handle_for_each_client_and_the_rest_as_it_was(
    kind: HandleType,
) -> None:
    setup = Setup()
    for fake_client in (setup.fake_client(), setup.fake_client()):
        for method in filter(None, (kind.starts, *kind.uses, kind.ends)):
            await setup.ask(fake_client, method, **{kind.member: "a/b:c", "path": "/x"})
    seen = [params.pop(kind.member) for _, params in setup.codex.asked]
    count = len(seen) // 2
    assert seen == [seen[0]] * count + [seen[count]] * count
    assert seen[0] != seen[count]
    assert all(params == {"path": "/x"} for _, params in setup.codex.asked)


@pytest.mark.parametrize(("kind", "method"), NEWS)
async def test_news_of_a_handle_reach_its_client_alone_under_the_name_it_chose(
    kind: HandleType, method: str
) -> None:
    setup = Setup()
    one, two = setup.fake_client(), setup.fake_client()
    await setup.name(one, kind, "a/b")
    name = await setup.name(two, kind, "a/b")
    two.received.clear()
    one.received.clear()
    assert setup.say(method, **{kind.member: name, "about": "provider", "more": [1.50]})
    assert one.received == []
    assert two.received == [
        {
            "method": method,
            "params": {kind.member: "a/b", "about": "stable", "more": [1.5]},
            "emittedAtMs": 1,
        }
    ]


async def test_handle_notifications_respect_opt_outs_and_departed_clients() -> None:
    setup = Setup()
    watch = next(kind for kind in HANDLE_TYPES if kind.member == "watchId")
    quiet, left, other = (
        setup.fake_client(opted_out=frozenset({"fs/changed"})),
        setup.fake_client(),
        setup.fake_client(),
    )
    names = [await setup.name(fake_client, watch) for fake_client in (quiet, left)]
    setup.leave(left)
    for fake_client in (quiet, left, other):
        fake_client.received.clear()
    assert all(setup.say("fs/changed", watchId=name) for name in names)
    assert quiet.received == left.received == other.received == []


@pytest.mark.parametrize(
    "params",
    [{"watchId": "w"}, {"watchId": "c1/w"}, {"watchId": 7}, {}, {"processId": "trimpoint-c1/x"}],
)
def test_news_that_name_no_client_pass_as_any_other(params: dict[str, Any]) -> None:
    setup = Setup()
    assert not setup.say("fs/changed", **params)
    assert not setup.say("account/updated", **params)
    assert not setup.handles.route_notification(
        CodexMessage("fs/changed", Raw(), b'{"method":"fs/changed"}')
    )


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_handles_of_a_client_are_ended_when_it_leaves(kind: HandleType) -> None:
    setup = Setup()
    leaving, staying = setup.fake_client(), setup.fake_client()
    for fake_client in (leaving, staying):
        await setup.ask(fake_client, kind.starts, **{kind.member: "h"})
    name = setup.codex.asked[0][1][kind.member]
    assert setup.leave(leaving) == [(kind.ends, {kind.member: name})]
    setup.codex.asked.clear()
    setup.handles.release(leaving.client)
    assert setup.codex.asked == []


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_a_refused_or_finished_handle_is_not_ended_again(kind: HandleType) -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    setup.codex.refuses.add(kind.starts)
    await setup.ask(fake_client, kind.starts, **{kind.member: "refused"})
    setup.codex.refuses.clear()
    await setup.ask(fake_client, kind.starts, **{kind.member: "over"})
    if kind.over in kind.notifications:
        setup.say(kind.over, **{kind.member: setup.codex.asked[-1][1][kind.member]})
    else:
        await setup.ask(fake_client, kind.over, **{kind.member: "over"})
    assert setup.leave(fake_client) == []


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_a_second_start_that_is_refused_leaves_the_first_to_be_ended(
    kind: HandleType,
) -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    await setup.ask(fake_client, kind.starts, **{kind.member: "h"})
    setup.codex.refuses.add(kind.starts)
    await setup.ask(fake_client, kind.starts, **{kind.member: "h"})
    assert [method for method, _ in setup.leave(fake_client)] == [kind.ends]


async def test_an_end_that_was_refused_is_asked_for_again_when_the_client_goes() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    await setup.ask(fake_client, "fs/watch", watchId="w")
    setup.codex.refuses.add("fs/unwatch")
    await setup.ask(fake_client, "fs/unwatch", watchId="w")
    with capture_logs() as logs:
        assert [method for method, _ in setup.leave(fake_client)] == ["fs/unwatch"]
    assert [log["event"] for log in logs] == ["nothing_to_end"]


async def test_handles_of_a_dead_codex_are_not_ended_again() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    await setup.ask(fake_client, "process/spawn", processHandle="h")
    setup.handles.forget_epoch()
    assert setup.leave(fake_client) == []


async def test_a_codex_that_is_gone_is_asked_nothing() -> None:
    setup = Setup()
    one, two = setup.fake_client(), setup.fake_client()
    for fake_client in (one, two):
        await setup.ask(fake_client, "fs/watch", watchId="w")
    setup.codex.is_gone = True
    with capture_logs() as logs:
        assert setup.leave(one) == []
    assert [log["event"] for log in logs] == ["nothing_to_end"]
    setup.codex.there = anyio.Event()
    assert setup.leave(two) == []


@pytest.mark.parametrize(
    "params", [{"processId": "p", "streamStdin": True}, {}, {"processId": None, "tty": False}]
)
async def test_a_command_that_runs_ends_with_its_client_even_without_a_handle(
    params: dict[str, Any],
) -> None:
    setup = Setup()
    leaving, staying = setup.fake_client(), setup.fake_client()
    release = setup.codex.holds["command/exec"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for fake_client in (leaving, staying):
            tasks.start_soon(setup.send, fake_client, "command/exec", {"command": ["x"], **params})
            await anyio.wait_all_tasks_blocked()
        names = [asked["processId"] for _, asked in setup.codex.asked]
        assert names[0] != names[1]
        assert setup.leave(leaving) == [("command/exec/terminate", {"processId": names[0]})]
        release.set()


async def test_a_command_that_has_ended_needs_no_end() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    await setup.ask(fake_client, "command/exec", command=["true"])
    await setup.ask(fake_client, "command/exec", command=["true"], processId="p")
    assert setup.leave(fake_client) == []


async def test_no_process_is_started_for_a_client_that_has_left() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    setup.codex.there = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(setup.send, fake_client, "process/spawn", {"processHandle": "h"})
        await anyio.wait_all_tasks_blocked()
        setup.leave(fake_client)
        setup.codex.there.set()
    assert setup.codex.asked == []


@pytest.mark.parametrize(("kind", "method"), USES)
async def test_a_refusal_names_the_handle_as_the_client_does(kind: HandleType, method: str) -> None:
    setup = Setup()
    setup.codex.refuses.add(method)
    answer = await setup.ask(setup.fake_client(), method, **{kind.member: "nobody"})
    assert answer["error"] == {"code": -32600, "message": "no such thing: nobody"}


async def test_a_handle_that_is_none_is_left_to_codex() -> None:
    setup = Setup()
    fake_client = setup.fake_client()
    sent = [
        ("command/exec", {"processId": 7}),
        ("command/exec", {"tty": True}),
        ("command/exec", {"streamStdoutStderr": True, "processId": None}),
        ("command/exec/write", {"deltaBase64": ""}),
        ("process/spawn", {"processHandle": ""}),
        ("fuzzyFileSearch/sessionStart", {"sessionId": ""}),
        ("fuzzyFileSearch", {"cancellationToken": None}),
        ("fs/watch", ["w"]),
        ("fs/watch", None),
    ]
    for method, params in sent:
        await setup.send(fake_client, method, params)
    assert setup.codex.asked == sent
    assert setup.leave(fake_client) == []


async def test_an_empty_handle_is_one_where_codex_takes_it_for_one() -> None:
    setup = Setup()
    for fake_client in (setup.fake_client(), setup.fake_client()):
        await setup.ask(fake_client, "fs/watch", watchId="")
    assert len({params["watchId"] for _, params in setup.codex.asked}) == 2


async def test_other_methods_are_not_touched() -> None:
    setup = Setup()
    await setup.ask(setup.fake_client(), "some/future", processId="p", requestId=1)
    assert setup.codex.asked == [("some/future", {"processId": "p", "requestId": 1})]


async def test_a_method_that_has_a_handler_keeps_it() -> None:
    setup, seen = Setup(), list[str]()

    async def handle(exchange: ClientRequest) -> Any:
        seen.append(exchange.method)
        return await setup.codex.handle(exchange)

    setup.table = setup.handles.wrap(
        {"thread/search": handle, "thread/list": handle}, setup.codex.handle
    )
    for method in ("thread/search", "thread/list", "thread/sample"):
        await setup.ask(setup.fake_client(), method)
    assert seen == ["thread/search", "thread/list"]
