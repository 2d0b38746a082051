"""Handles of clients are translated for Codex and back, with a Codex that records its requests."""

from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec
import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.appserver.errors import ProviderError, ProviderExited
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.ids.handle_types import CANCELS, HANDLE_TYPES, Cancel, HandleType
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.request import ClientRequest

from tests.deadlines import STEP_S
from tests.gateway.stage import FakeClient, client_request

STARTS_THAT_LAST = [kind for kind in HANDLE_TYPES if kind.over != kind.starts]
USES = [
    (kind, method)
    for kind in HANDLE_TYPES
    for method in (kind.ends, *kind.uses)
    if method is not None
]
NEWS = [(kind, method) for kind in HANDLE_TYPES for method in kind.notifications]
CANCELLED = [(cancel, method) for cancel in CANCELS for method in cancel.requests]
PARTIAL = "thread/search/partial"
NOTHING: dict[str, Any] = {}


class Codex:
    """A link, peer, identity and inner handler in one object. `asked` holds the requests that it
    received, those of the daemon included.
    """

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

    def begin(
        self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]
    ) -> int:
        if self.is_gone:
            raise ProviderExited("it died", "")
        self.asked.append((method, params))
        on_outcome(self.refusal("no") if method in self.refuses else Raw(b"{}"))
        return len(self.asked)

    async def handle(self, exchange: ClientRequest) -> Any:
        params = msgspec.json.decode(exchange.message.params or b"null")
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
        return ProviderError(
            -32600, message, None, Raw(msgspec.json.encode({"code": -32600, "message": message}))
        )


class Setup:
    """The handles of several clients, with that Codex."""

    def __init__(self) -> None:
        self.codex = Codex()
        self.clients = Clients()
        self.handles = Handles(
            self.clients, cast("CodexLink", self.codex), cast("Identity", self.codex)
        )
        self.table = self.handles.wrap({}, self.codex.handle)

    def fake_client(self, **options: Any) -> FakeClient:
        return FakeClient(self.clients, **options)

    async def send(
        self, fake_client: FakeClient, method: str, params: Any, request_id: Any = 1
    ) -> dict[str, Any]:
        message = msgspec.json.encode({"id": request_id, "method": method, "params": params})
        exchange = client_request(fake_client, message)
        with anyio.fail_after(STEP_S):
            try:
                exchange.answer(await self.table.get(method, self.codex.handle)(exchange))
            except ProviderError as error:
                exchange.refuse(error)
        return fake_client.received[-1]

    async def ask(self, fake_client: FakeClient, method: str, /, **params: Any) -> dict[str, Any]:
        return await self.send(fake_client, method, params)

    async def name(self, fake_client: FakeClient, kind: HandleType, chosen: str = "h") -> str:
        """Returns the handle that Codex sees for a client's handle."""
        await self.ask(
            fake_client, kind.uses[0] if kind.uses else kind.starts, **{kind.member: chosen}
        )
        return str(self.codex.asked.pop()[1][kind.member])

    def say(self, method: str, **params: Any) -> bool:
        return self.handles.route_notification(
            CodexMessage(
                method,
                Raw(msgspec.json.encode(params)),
                msgspec.json.encode({"method": method, "params": params, "emittedAtMs": 1}),
            )
        )

    def leave(self, fake_client: FakeClient) -> list[tuple[str, dict[str, Any]]]:
        """Disconnects a client, and returns the requests that Codex receives because of that."""
        self.codex.asked.clear()
        self.clients.remove(fake_client.client)
        self.handles.release(fake_client.client)
        return list(self.codex.asked)


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
