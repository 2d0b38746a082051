"""Experimental requests are refused to clients that did not ask for the experimental API."""

from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import msgspec
import pytest
from structlog.testing import capture_logs
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.experimental import ExperimentalApi, SchemaUnavailable
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.clients import EXPERIMENTAL, Clients
from trimpoint.gateway.session.requests import experimental_gate
from trimpoint.gateway.session.requests.experimental_gate import ExperimentalGate

from tests.gateway.stage import FakeClient, client_request

API = ExperimentalApi({"new": frozenset()}, {"old": {"member": True}})


class Link:
    """The part of a link that the gate uses."""

    profile = LaunchProfile(Path("/codex"))
    epoch = 1


class Setup:
    """A gate for a binary whose experimental API is `api`, or that prints no schema while that is
    None. `asked` counts the reads.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, api: ExperimentalApi | None = API) -> None:
        self.api = api
        self.asked = 0
        self.link = Link()
        self.clients = Clients()
        self.gate = ExperimentalGate(cast("CodexLink", self.link))
        monkeypatch.setattr(experimental_gate, "experimental_api", self._ask)

    async def _ask(self, profile: LaunchProfile) -> ExperimentalApi:
        assert profile is self.link.profile
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        if self.api is None:
            raise SchemaUnavailable("it is mute")
        return self.api

    def client(self, *, experimental: bool) -> FakeClient:
        fake_client = FakeClient(self.clients, initialized=False)
        fake_client.client.introduce("guest", frozenset(), experimental=experimental)
        return fake_client

    async def refusal(self, fake_client: FakeClient, method: str, params: Any) -> Any:
        """Returns the error object that the client gets, or None if the request is allowed."""
        message = msgspec.json.encode({"id": 1, "method": method, "params": params})
        try:
            await self.gate.check(client_request(fake_client, message))
        except ProviderError as error:
            return msgspec.json.decode(error.raw)
        return None


@pytest.mark.parametrize(
    ("method", "params", "used"),
    [("new", {}, "new"), ("new", None, "new"), ("old", {"member": 1}, "old.member")],
)
async def test_a_client_that_did_not_ask_for_it_is_refused_in_codexs_words(
    monkeypatch: pytest.MonkeyPatch, method: str, params: Any, used: str
) -> None:
    setup = Setup(monkeypatch)
    expected = {"code": -32600, "message": f"{used} requires experimentalApi capability"}
    assert await setup.refusal(setup.client(experimental=False), method, params) == expected
    assert await setup.refusal(setup.client(experimental=True), method, params) is None


@pytest.mark.parametrize(
    ("method", "params"), [("old", {"other": 1}), ("old", {}), ("new", [1]), ("unknown", {})]
)
async def test_all_else_is_left_to_codex(
    monkeypatch: pytest.MonkeyPatch, method: str, params: Any
) -> None:
    setup = Setup(monkeypatch)
    assert await setup.refusal(setup.client(experimental=False), method, params) is None


async def test_the_binary_is_asked_when_it_matters_and_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Setup(monkeypatch)
    await setup.refusal(setup.client(experimental=True), "new", {})
    assert setup.asked == 0
    fake_client = setup.client(experimental=False)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(setup.refusal, fake_client, "new", None)
    assert setup.asked == 1
    setup.link.epoch += 1
    setup.api = ExperimentalApi({}, {})
    assert await setup.refusal(fake_client, "new", {}) is None
    assert setup.asked == 2


async def test_the_gate_refuses_no_client_while_the_api_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Setup(monkeypatch, api=None)
    fake_client = setup.client(experimental=False)
    with capture_logs() as logs:
        assert await setup.refusal(fake_client, "new", {}) is None
        assert await setup.refusal(fake_client, "new", {}) is None
    assert [log["event"] for log in logs] == ["experimental_api_unknown"]


@pytest.mark.parametrize(
    "method", [*sorted(EXPERIMENTAL), "thread/realtime/started", "thread/realtime/of/the/future"]
)
def test_experimental_notifications_reach_only_those_who_asked(method: str) -> None:
    clients = Clients()
    asked, did_not = FakeClient(clients, "t"), FakeClient(clients, "t", initialized=False)
    did_not.client.introduce("plain", frozenset())
    clients.broadcast(
        "t", method, lambda: msgspec.json.encode({"method": method, "params": {"threadId": "t"}})
    )
    assert (asked.methods(), did_not.methods()) == ([method], [])
