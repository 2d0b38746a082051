"""Clients with handles, and a Codex that records its requests."""

from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError, ProviderExited
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.ids.handle_types import HandleType
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.request import ClientRequest

from tests.deadlines import STEP_S
from tests.gateway.stage import FakeClient, client_request

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
