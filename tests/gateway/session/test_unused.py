"""When an unused daemon may end."""

from types import SimpleNamespace
from typing import Any, cast

import anyio
import msgspec
import pytest
from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure, ProviderTimeout
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.login_codes import LoginCodes
from trimpoint.gateway.session.unused import Usage, Work
from trimpoint.threads.registry import ThreadRegistry

from tests.gateway.stage import FakeClient

SOON_S = 0.01
DEADLINE_S = 10.0
METHOD_NOT_FOUND = ProviderError(-32601, "unknown method", None, msgspec.Raw(b"{}"))


class Codex:
    """Stands in for the link to a Codex whose one loaded thread has these `terminals`."""

    def __init__(
        self, *terminals: str, failure: ProviderFailure | None = None, is_connected: bool = True
    ) -> None:
        self.peer = object() if is_connected else None
        self.terminals = list(terminals)
        self.failure = failure
        self.asked = anyio.Event()

    async def request(self, method: str, params: dict[str, Any]) -> msgspec.Raw:
        self.asked.set()
        if self.failure is not None:
            raise self.failure
        data = ["t"] if method == "thread/loaded/list" else self.terminals
        return msgspec.Raw(msgspec.json.encode({"data": data}))


class Threads:
    """Stands in for a registry with one thread, with or without a running turn."""

    def __init__(
        self,
        *,
        is_running: bool = False,
        read_only: str | None = None,
        is_quiescent: bool = True,
    ) -> None:
        self.is_quiescent = is_quiescent
        self.state = SimpleNamespace(
            open_operation=SimpleNamespace(id="o", started_at_ms=0, kind="trim")
            if is_running
            else None,
            running_turn_id=None,
            turn_requests={},
            pending_requests={},
            archived=False,
            queue=[],
        )
        self.read_only = read_only

    def loaded_writers(self) -> list[Any]:
        return [
            SimpleNamespace(
                read_only=self.read_only, state=self.state, is_quiescent=self.is_quiescent
            )
        ]


def usage(clients: Clients, threads: Threads, codex: Codex) -> Usage:
    work = Work(cast("ThreadRegistry", threads), cast("CodexLink", codex))
    return Usage(clients, LoginCodes(), [work])


@pytest.mark.parametrize(
    ("threads", "codex"),
    [
        (Threads(), Codex(is_connected=False)),
        (Threads(), Codex()),
        (Threads(), Codex(failure=METHOD_NOT_FOUND)),
        (Threads(is_running=True, read_only="its journal is damaged"), Codex()),
    ],
)
async def test_without_client_and_work_the_daemon_may_end(threads: Threads, codex: Codex) -> None:
    with anyio.fail_after(DEADLINE_S):
        await usage(Clients(), threads, codex).ended(SOON_S)


async def test_a_client_keeps_the_daemon_until_it_leaves() -> None:
    clients = Clients()
    client = FakeClient(clients)
    assert clients.absent_s == 0.0
    ended = anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await usage(clients, Threads(), Codex()).ended(SOON_S)
            ended.set()

        tasks.start_soon(watch)
        await anyio.wait_all_tasks_blocked()
        assert not ended.is_set()
        clients.remove(client.client)
        with anyio.fail_after(DEADLINE_S):
            await ended.wait()


async def test_a_request_without_a_client_keeps_the_daemon_until_it_is_answered() -> None:
    clients = Clients()
    clients.roster.empty_since_s -= 3600
    with clients.serving():
        assert clients.absent_s == 0.0
    assert clients.absent_s < 3600


async def test_facts_that_are_not_durable_keep_the_daemon() -> None:
    work = Work(cast("ThreadRegistry", Threads(is_quiescent=False)), cast("CodexLink", Codex()))
    assert await work.is_working()


async def test_open_work_keeps_the_daemon_until_it_ends() -> None:
    threads = Threads(is_running=True)
    async with anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def watch() -> None:
            await usage(Clients(), threads, Codex()).ended(SOON_S)
            ended.set()

        tasks.start_soon(watch)
        await anyio.wait_all_tasks_blocked()
        assert not ended.is_set()
        threads.state.open_operation = None
        with anyio.fail_after(DEADLINE_S):
            await ended.wait()


@pytest.mark.parametrize(
    "codex", [Codex("a dev server"), Codex(failure=ProviderTimeout("thread/loaded/list", 60.0))]
)
async def test_a_terminal_or_a_codex_that_does_not_tell_keeps_the_daemon(codex: Codex) -> None:
    ended = anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await usage(Clients(), Threads(), codex).ended(SOON_S)
            ended.set()

        tasks.start_soon(watch)
        with anyio.fail_after(DEADLINE_S):
            await codex.asked.wait()
        await anyio.wait_all_tasks_blocked()
        assert not ended.is_set()
        codex.terminals, codex.failure = [], None
        with anyio.fail_after(DEADLINE_S):
            await ended.wait()


async def test_a_client_that_comes_while_codex_is_asked_keeps_the_daemon() -> None:
    clients, joined = Clients(), anyio.Event()

    class JoinedMeanwhile(Codex):
        async def request(self, method: str, params: dict[str, Any]) -> msgspec.Raw:
            if not joined.is_set():
                FakeClient(clients)
                joined.set()
            return await super().request(method, params)

    async with anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def watch() -> None:
            await usage(clients, Threads(), JoinedMeanwhile()).ended(SOON_S)
            ended.set()

        tasks.start_soon(watch)
        with anyio.fail_after(DEADLINE_S):
            await joined.wait()
        # What must not come is not waited for any longer than that.
        with anyio.move_on_after(SOON_S * 20):
            await ended.wait()
        assert not ended.is_set()
        tasks.cancel_scope.cancel()
