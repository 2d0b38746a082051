"""`initialize` is accepted once from each client, under the client's own name, and before any other
request.
"""

from pathlib import Path
from typing import Any, cast

import anyio
import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.appserver.initialize import InitializeResult
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.supervisor import CodexLink, ProviderUnavailable
from trimpoint.gateway.session import handshake
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.handshake import (
    PATIENCE_S,
    Handshake,
    begun_handshake,
    require_initialized,
)
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.errors import Reason

from tests.deadlines import STEP_S
from tests.gateway.stage import FakeClient, client_request

USER_AGENT = "trimpoint/0.163.0 (Debian 12.0.0; x86_64) xterm (trimpoint; 0.1.0)"
IDENTITY = InitializeResult(
    USER_AGENT,
    (0, 163, 0),
    Raw(msgspec.json.encode({"userAgent": USER_AGENT, "codexHome": "/h", "future": [1]})),
)
INFO = {"name": "editor", "version": "2"}


class Link:
    """A link to a Codex that is connected once `there` is set; without an identity it never
    connects. With `starts_slowly` it has none before the client's patience ends.
    """

    def __init__(
        self, identity: InitializeResult | None = IDENTITY, *, starts_slowly: bool = False
    ) -> None:
        self.identity = None if starts_slowly else identity
        self.starts_slowly = starts_slowly
        self.profile = LaunchProfile(Path("/nowhere/codex"), codex_home=Path("/h"))
        self.there = anyio.Event()

    async def connected(self, deadline_s: float) -> None:
        if self.starts_slowly:
            raise ProviderUnavailable("it did not start in time")
        await self.there.wait()
        if self.identity is None:
            raise ProviderUnavailable("it is not installed")


class Setup:
    def __init__(
        self, identity: InitializeResult | None = IDENTITY, *, is_there: bool = True
    ) -> None:
        self.link = Link(identity)
        if is_there:
            self.link.there.set()
        self.fake_client = FakeClient(Clients(), initialized=False)
        self.begin()

    def begin(self) -> None:
        self._handshake = Handshake(cast("CodexLink", self.link), PATIENCE_S)

    @property
    def client(self) -> Client:
        return self.fake_client.client

    async def initialize(self, params: Any) -> None:
        message = msgspec.json.encode({"id": 1, "method": "initialize", "params": params})
        with begun_handshake(self.client):
            await self._handshake.initialize(client_request(self.fake_client, message))


async def refusal_of(setup: Setup, params: Any) -> Reason:
    with pytest.raises(Refusal) as caught:
        await setup.initialize(params)
    return caught.value.reason


async def test_a_client_sees_its_own_name_in_the_user_agent() -> None:
    setup = Setup()
    await setup.initialize({"clientInfo": INFO})
    user_agent = "editor/0.163.0 (Debian 12.0.0; x86_64) xterm (editor; 2)"
    assert setup.fake_client.received == [
        {"id": 1, "result": {"userAgent": user_agent, "codexHome": "/h", "future": [1]}}
    ]
    assert (setup.client.name, setup.client.initialized) == ("editor", True)


async def test_a_client_says_what_it_does_not_want_to_hear() -> None:
    setup = Setup()
    capabilities: dict[str, Any] = {
        "experimentalApi": True,
        "optOutNotificationMethods": ["thread/started"],
        "futureCapability": {},
    }
    await setup.initialize({"clientInfo": INFO, "capabilities": capabilities, "futureMember": 1})
    assert not setup.client.wants(None, "thread/started")
    assert setup.client.wants(None, "thread/closed")


async def test_a_second_handshake_is_refused_even_while_the_first_is_under_way() -> None:
    setup = Setup(is_there=False)
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(setup.initialize, {"clientInfo": INFO})
            await anyio.wait_all_tasks_blocked()
            assert await refusal_of(setup, {"clientInfo": INFO}) is Reason.ALREADY_INITIALIZED
            setup.link.there.set()
    assert await refusal_of(setup, {"clientInfo": INFO}) is Reason.ALREADY_INITIALIZED
    assert len(setup.fake_client.received) == 1


async def test_a_request_sent_during_the_handshake_waits_for_it() -> None:
    setup = Setup(is_there=False)
    passed: list[bool] = []

    async def request() -> None:
        await require_initialized(setup.client)
        passed.append(setup.client.initialized)

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(setup.initialize, {"clientInfo": INFO})
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(request)
            await anyio.wait_all_tasks_blocked()
            assert passed == []
            setup.link.there.set()
    assert passed == [True]


async def test_a_request_before_the_handshake_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        await require_initialized(Setup().client)
    assert caught.value.reason is Reason.NOT_INITIALIZED


@pytest.mark.parametrize(
    "params",
    [
        None, {}, {"clientInfo": None}, {"clientInfo": {"name": "editor"}}, {"clientInfo": {"name": 7, "version": "2"}},
        {"clientInfo": INFO, "capabilities": []}, {"clientInfo": INFO, "capabilities": {"optOutNotificationMethods": 7}},
        {"clientInfo": INFO, "capabilities": {"optOutNotificationMethods": "thread/started"}},
        {"clientInfo": INFO, "capabilities": {"optOutNotificationMethods": [None]}},
    ],
)  # fmt: skip
async def test_a_handshake_that_says_nothing_right_may_be_tried_again(params: Any) -> None:
    setup = Setup()
    with pytest.raises(msgspec.ValidationError):
        await setup.initialize(params)
    assert not setup.client.initialized
    await setup.initialize({"clientInfo": INFO, "capabilities": None})
    assert setup.client.initialized


async def test_parameters_that_are_no_object_are_refused() -> None:
    assert await refusal_of(Setup(), [INFO]) is Reason.INVALID_PARAMS


async def test_without_codex_a_client_can_still_shake_hands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshake, "binary_version", lambda _: None)
    setup = Setup(identity=None)
    await setup.initialize({"clientInfo": INFO})
    assert setup.fake_client.received[0]["result"]["userAgent"].startswith("editor/")
    assert setup.client.initialized
    assert setup.fake_client.received[0]["result"]["codexHome"] == "/h"


async def test_a_client_need_not_wait_for_a_codex_that_starts_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshake, "binary_version", lambda _: (0, 171, 0))
    setup = Setup()
    setup.link = Link(starts_slowly=True)
    setup.begin()
    await setup.initialize({"clientInfo": INFO})
    result = setup.fake_client.received[0]["result"]
    assert result["userAgent"].startswith("editor/0.171.0 (")
    assert result["userAgent"].endswith(" (editor; 2)")
    assert result["codexHome"] == "/h"
