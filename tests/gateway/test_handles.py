"""Handles of clients in Codex's sight and back, with a Codex that only listens."""

from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec
import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.appserver.peer import Outcome, ProviderError, ProviderGone
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids.handles import CANCELS, KINDS, Cancel, Handles, Kind
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.request import Exchange
from trimpoint_protocol import jsonrpc

from tests.gateway.stage import Guest

STARTS_THAT_LAST = [kind for kind in KINDS if kind.over != kind.starts]
USES = [(kind, method) for kind in KINDS for method in (kind.ends, *kind.uses) if method is not None]
NEWS = [(kind, method) for kind in KINDS for method in kind.hears]
CANCELLED = [(cancel, method) for cancel in CANCELS for method in cancel.requests]
PARTIAL = "thread/search/partial"


class Codex:
    """Link, peer, identity and inner handler in one. `asked` is what it was sent, ends of ours included."""

    request_deadline_s = 5.0

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refuses: set[str] = set()
        self.holds: dict[str, anyio.Event] = {}
        self.there = anyio.Event()
        self.there.set()
        self.is_gone = False
        self.renames = False

    @property
    def peer(self) -> "Codex | None":
        return self if self.there.is_set() else None

    async def connected(self) -> "Codex":
        await self.there.wait()
        return self

    def notification_to_client(self, method: str, line: bytes) -> bytes:
        return line.replace(b"provider", b"stable")

    def begin(self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]) -> int:
        if self.is_gone:
            raise ProviderGone("it died", "")
        self.asked.append((method, params))
        on_outcome(self.refusal("no") if method in self.refuses else Raw(b"{}"))
        return len(self.asked)

    async def handle(self, exchange: Exchange) -> Any:
        params = msgspec.json.decode(exchange.request.params or b"null")
        self.asked.append((exchange.method, params))
        if exchange.on_sent is not None:
            exchange.on_sent(len(self.asked))
        if exchange.method in self.holds:
            await self.holds[exchange.method].wait()
        if exchange.method in self.refuses:
            raise self.refusal(f"no such thing: {next(iter(params.values()))}")
        return {}

    @staticmethod
    def refusal(message: str) -> ProviderError:
        return ProviderError(-32600, message, None, Raw(msgspec.json.encode({"code": -32600, "message": message})))


class Scene:
    """Handles between guests and that Codex."""

    def __init__(self) -> None:
        self.codex = Codex()
        self.clients = Clients()
        self.handles = Handles(self.clients, cast("CodexLink", self.codex), cast("Identity", self.codex))
        self.table = self.handles.around({}, self.codex.handle)

    def guest(self, **options: Any) -> Guest:
        return Guest(self.clients, **options)

    async def send(self, guest: Guest, method: str, params: Any, request_id: Any = 1) -> dict[str, Any]:
        request = jsonrpc.decode(msgspec.json.encode({"id": request_id, "method": method, "params": params}))
        assert isinstance(request, jsonrpc.Request)
        exchange = Exchange(guest.client, request, guest.connection.send)
        with anyio.fail_after(5):
            try:
                exchange.answer(await self.table.get(method, self.codex.handle)(exchange))
            except ProviderError as error:
                exchange.refuse(error)
        return guest.heard[-1]

    async def ask(self, guest: Guest, method: str, /, **params: Any) -> dict[str, Any]:
        return await self.send(guest, method, params)

    async def name(self, guest: Guest, kind: Kind, chosen: str = "h") -> str:
        """What Codex knows a guest's handle as."""
        await self.ask(guest, kind.uses[0] if kind.uses else kind.starts, **{kind.member: chosen})
        return str(self.codex.asked.pop()[1][kind.member])

    def say(self, method: str, **params: Any) -> bool:
        return self.handles.deliver(method, msgspec.json.encode({"method": method, "params": params, "emittedAtMs": 1}))

    def leave(self, guest: Guest) -> list[tuple[str, dict[str, Any]]]:
        """What Codex is asked because a guest is gone."""
        self.codex.asked.clear()
        self.clients.remove(guest.client)
        self.handles.release(guest.client)
        return list(self.codex.asked)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.member)
async def test_codex_sees_another_handle_for_each_client_and_the_rest_as_it_was(kind: Kind) -> None:
    scene = Scene()
    for guest in (scene.guest(), scene.guest()):
        for method in filter(None, (kind.starts, *kind.uses, kind.ends)):
            await scene.ask(guest, method, **{kind.member: "a/b:c", "path": "/x"})
    seen = [params.pop(kind.member) for _, params in scene.codex.asked]
    count = len(seen) // 2
    assert seen == [seen[0]] * count + [seen[count]] * count
    assert seen[0] != seen[count]
    assert all(params == {"path": "/x"} for _, params in scene.codex.asked)


@pytest.mark.parametrize(("kind", "method"), NEWS)
async def test_news_of_a_handle_reach_its_client_alone_under_the_name_it_chose(kind: Kind, method: str) -> None:
    scene = Scene()
    one, two = scene.guest(), scene.guest()
    await scene.name(one, kind, "a/b")
    name = await scene.name(two, kind, "a/b")
    two.heard.clear()
    one.heard.clear()
    assert scene.say(method, **{kind.member: name, "about": "provider", "more": [1.50]})
    assert one.heard == []
    assert two.heard == [{"method": method, "params": {kind.member: "a/b", "about": "stable", "more": [1.5]}, "emittedAtMs": 1}]


async def test_who_opted_out_is_spared_and_news_for_those_who_left_are_dropped() -> None:
    scene = Scene()
    watch = next(kind for kind in KINDS if kind.member == "watchId")
    quiet, left, other = scene.guest(opted_out=frozenset({"fs/changed"})), scene.guest(), scene.guest()
    names = [await scene.name(guest, watch) for guest in (quiet, left)]
    scene.leave(left)
    for guest in (quiet, left, other):
        guest.heard.clear()
    assert all(scene.say("fs/changed", watchId=name) for name in names)
    assert quiet.heard == left.heard == other.heard == []


@pytest.mark.parametrize("params", [{"watchId": "w"}, {"watchId": "c1/w"}, {"watchId": 7}, {}, {"processId": "trimpoint-c1/x"}])
def test_news_that_name_no_client_pass_as_any_other(params: dict[str, Any]) -> None:
    scene = Scene()
    assert not scene.say("fs/changed", **params)
    assert not scene.say("account/updated", **params)
    assert not scene.handles.deliver("fs/changed", b'{"method":"fs/changed"}')


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_what_a_client_leaves_behind_is_ended_when_it_goes(kind: Kind) -> None:
    scene = Scene()
    leaving, staying = scene.guest(), scene.guest()
    for guest in (leaving, staying):
        await scene.ask(guest, kind.starts, **{kind.member: "h"})
    name = scene.codex.asked[0][1][kind.member]
    assert scene.leave(leaving) == [(kind.ends, {kind.member: name})]
    scene.codex.asked.clear()
    scene.handles.release(leaving.client)
    assert scene.codex.asked == []


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_what_was_refused_or_is_over_needs_no_end(kind: Kind) -> None:
    scene = Scene()
    guest = scene.guest()
    scene.codex.refuses.add(kind.starts)
    await scene.ask(guest, kind.starts, **{kind.member: "refused"})
    scene.codex.refuses.clear()
    await scene.ask(guest, kind.starts, **{kind.member: "over"})
    if kind.over in kind.hears:
        scene.say(kind.over, **{kind.member: scene.codex.asked[-1][1][kind.member]})
    else:
        await scene.ask(guest, kind.over, **{kind.member: "over"})
    assert scene.leave(guest) == []


@pytest.mark.parametrize("kind", STARTS_THAT_LAST, ids=lambda kind: kind.member)
async def test_a_second_start_that_is_refused_leaves_the_first_to_be_ended(kind: Kind) -> None:
    scene = Scene()
    guest = scene.guest()
    await scene.ask(guest, kind.starts, **{kind.member: "h"})
    scene.codex.refuses.add(kind.starts)
    await scene.ask(guest, kind.starts, **{kind.member: "h"})
    assert [method for method, _ in scene.leave(guest)] == [kind.ends]


async def test_an_end_that_was_refused_is_asked_for_again_when_the_client_goes() -> None:
    scene = Scene()
    guest = scene.guest()
    await scene.ask(guest, "fs/watch", watchId="w")
    scene.codex.refuses.add("fs/unwatch")
    await scene.ask(guest, "fs/unwatch", watchId="w")
    with capture_logs() as logs:
        assert [method for method, _ in scene.leave(guest)] == ["fs/unwatch"]
    assert [log["event"] for log in logs] == ["nothing_to_end"]


async def test_what_died_with_its_codex_needs_no_end() -> None:
    scene = Scene()
    guest = scene.guest()
    await scene.ask(guest, "process/spawn", processHandle="h")
    scene.handles.forget_epoch()
    assert scene.leave(guest) == []


async def test_a_codex_that_is_gone_is_asked_nothing() -> None:
    scene = Scene()
    one, two = scene.guest(), scene.guest()
    for guest in (one, two):
        await scene.ask(guest, "fs/watch", watchId="w")
    scene.codex.is_gone = True
    with capture_logs() as logs:
        assert scene.leave(one) == []
    assert [log["event"] for log in logs] == ["nothing_to_end"]
    scene.codex.there = anyio.Event()
    assert scene.leave(two) == []


@pytest.mark.parametrize("params", [{"processId": "p", "streamStdin": True}, {}, {"processId": None, "tty": False}])
async def test_a_command_that_runs_ends_with_its_client_even_without_a_handle(params: dict[str, Any]) -> None:
    scene = Scene()
    leaving, staying = scene.guest(), scene.guest()
    release = scene.codex.holds["command/exec"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for guest in (leaving, staying):
            tasks.start_soon(scene.send, guest, "command/exec", {"command": ["x"], **params})
            await anyio.wait_all_tasks_blocked()
        names = [asked["processId"] for _, asked in scene.codex.asked]
        assert scene.leave(leaving) == [("command/exec/terminate", {"processId": names[0]})]
        release.set()
    assert names[0] != names[1]


async def test_a_command_that_has_ended_needs_no_end() -> None:
    scene = Scene()
    guest = scene.guest()
    await scene.ask(guest, "command/exec", command=["true"])
    await scene.ask(guest, "command/exec", command=["true"], processId="p")
    assert scene.leave(guest) == []


async def test_nothing_is_started_for_a_client_that_is_gone_before_codex_is_there() -> None:
    scene = Scene()
    guest = scene.guest()
    scene.codex.there = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.send, guest, "process/spawn", {"processHandle": "h"})
        await anyio.wait_all_tasks_blocked()
        scene.leave(guest)
        scene.codex.there.set()
    assert scene.codex.asked == []


@pytest.mark.parametrize(("kind", "method"), USES)
async def test_a_refusal_names_the_handle_as_the_client_does(kind: Kind, method: str) -> None:
    scene = Scene()
    scene.codex.refuses.add(method)
    answer = await scene.ask(scene.guest(), method, **{kind.member: "nobody"})
    assert answer["error"] == {"code": -32600, "message": "no such thing: nobody"}


async def test_a_handle_that_is_none_is_left_to_codex() -> None:
    scene = Scene()
    guest = scene.guest()
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
        await scene.send(guest, method, params)
    assert scene.codex.asked == sent
    assert scene.leave(guest) == []


async def test_an_empty_handle_is_one_where_codex_takes_it_for_one() -> None:
    scene = Scene()
    for guest in (scene.guest(), scene.guest()):
        await scene.ask(guest, "fs/watch", watchId="")
    assert len({params["watchId"] for _, params in scene.codex.asked}) == 2


async def test_other_methods_are_not_touched() -> None:
    scene = Scene()
    await scene.ask(scene.guest(), "some/future", processId="p", requestId=1)
    assert scene.codex.asked == [("some/future", {"processId": "p", "requestId": 1})]


async def test_a_method_that_has_a_handler_keeps_it() -> None:
    scene, seen = Scene(), list[str]()

    async def handle(exchange: Exchange) -> Any:
        seen.append(exchange.method)
        return await scene.codex.handle(exchange)

    scene.table = scene.handles.around({"thread/search": handle, "thread/list": handle}, scene.codex.handle)
    for method in ("thread/search", "thread/list", "thread/sample"):
        await scene.ask(scene.guest(), method)
    assert seen == ["thread/search", "thread/list"]


@pytest.mark.parametrize(("cancel", "method"), CANCELLED)
async def test_a_request_is_cancelled_by_its_own_client_under_codexs_id(cancel: Cancel, method: str) -> None:
    scene = Scene()
    mine, other = scene.guest(), scene.guest()
    release = scene.codex.holds[method] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for guest in (other, mine):
            tasks.start_soon(scene.send, guest, method, {}, "r")
            await anyio.wait_all_tasks_blocked()
        await scene.ask(mine, cancel.method, requestId="r", more=1)
        await scene.ask(other, cancel.method, requestId="r")
        release.set()
    await scene.ask(mine, cancel.method, requestId="r")
    asked = [params for name, params in scene.codex.asked if name == cancel.method]
    assert asked == [{"requestId": 2, "more": 1}, {"requestId": 1}, {"requestId": f'trimpoint-{mine.client.id}/"r"'}]


async def test_a_cancel_ends_only_what_it_is_for_and_never_a_request_of_ours() -> None:
    scene = Scene()
    guest = scene.guest()
    release = scene.codex.holds["thread/search"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.send, guest, "thread/search", {}, -5)
        await anyio.wait_all_tasks_blocked()
        await scene.ask(guest, "thread/sample/cancel", requestId=-5)
        await scene.ask(guest, "thread/search/cancel", requestId=1)
        await scene.ask(guest, "thread/search/cancel", requestId=-5)
        release.set()
    asked = [params["requestId"] for _, params in scene.codex.asked[1:]]
    assert asked == [f"trimpoint-{guest.client.id}/-5", f"trimpoint-{guest.client.id}/1", 1]


@pytest.mark.parametrize("params", [{"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}, {}, None])
async def test_an_id_that_is_none_is_left_to_codex(params: Any) -> None:
    scene = Scene()
    await scene.send(scene.guest(), "thread/search/cancel", params)
    assert scene.codex.asked == [("thread/search/cancel", params)]


async def test_a_cancel_waits_until_its_request_has_gone_out() -> None:
    scene = Scene()
    guest, ready = scene.guest(), anyio.Event()

    async def handle(exchange: Exchange) -> Any:
        await ready.wait()
        return await scene.codex.handle(exchange)

    scene.table = scene.handles.around({"thread/sample": handle}, scene.codex.handle)
    scene.codex.holds["thread/sample"] = release = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.send, guest, "thread/sample", {}, "r")
        tasks.start_soon(scene.send, guest, "thread/sample/cancel", {"requestId": "r"}, "c")
        await anyio.wait_all_tasks_blocked()
        assert scene.codex.asked == []
        ready.set()
        await anyio.wait_all_tasks_blocked()
        assert scene.codex.asked[1] == ("thread/sample/cancel", {"requestId": 1})
        release.set()


async def test_a_request_under_way_is_cancelled_when_its_client_goes_and_one_that_goes_out_later_too() -> None:
    scene = Scene()
    guest, ready = scene.guest(), anyio.Event()

    async def handle(exchange: Exchange) -> Any:
        await ready.wait()
        return await scene.codex.handle(exchange)

    scene.table = scene.handles.around({"thread/sample": handle}, scene.codex.handle)
    release = scene.codex.holds["thread/search"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.send, guest, "thread/search", {}, "a")
        tasks.start_soon(scene.send, guest, "thread/sample", {}, "b")
        await anyio.wait_all_tasks_blocked()
        assert scene.leave(guest) == [("thread/search/cancel", {"requestId": 1})]
        ready.set()
        await anyio.wait_all_tasks_blocked()
        sent_as = [name for name, _ in scene.codex.asked].index("thread/sample") + 1
        assert scene.codex.asked[-1] == ("thread/sample/cancel", {"requestId": sent_as})
        release.set()


async def test_partial_results_reach_the_client_whose_request_they_belong_to() -> None:
    scene = Scene()
    one, two = scene.guest(), scene.guest()
    release = scene.codex.holds["thread/search/stream"] = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for guest in (one, two):
            tasks.start_soon(scene.send, guest, "thread/search/stream", {}, "s")
            await anyio.wait_all_tasks_blocked()
        assert scene.say(PARTIAL, requestId=2, data=["provider"])
        assert one.heard == []
        assert two.heard == [{"method": PARTIAL, "params": {"requestId": "s", "data": ["stable"]}, "emittedAtMs": 1}]
        release.set()
    two.heard.clear()
    assert scene.say(PARTIAL, requestId=2, data=[])
    assert one.heard[1:] == two.heard == []
