"""Answers `initialize` for each client (docs/spec/clients.md), with a user agent that names that
client, as Codex itself would.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec
import structlog
from trimpoint_protocol.errors import Reason

from trimpoint import __version__
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.codex_tui import unknown_to
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.gateway.transport.framing_errors import encode_refusal
from trimpoint.gateway.transport.wire import CloseCode

log = structlog.get_logger()

# A client's first request should not hang on a Codex that does not start; it can still use our own
# methods.
CONNECT_DEADLINE_S = 15.0


class _ClientInfo(msgspec.Struct):
    name: str
    version: str


class _Capabilities(msgspec.Struct, rename="camel"):
    opt_out_notification_methods: list[str] | None = None
    experimental_api: bool = False


class _Params(msgspec.Struct, rename="camel"):
    client_info: _ClientInfo
    capabilities: _Capabilities | None = None


class Handshake:
    """Initializes clients; `link` is the connection to Codex, whose own answer to `initialize` is
    passed on.
    """

    def __init__(self, link: CodexLink) -> None:
        self._link = link

    async def initialize(self, client_request: ClientRequest) -> None:
        """Records the client's name and capabilities, and answers its `initialize`.

        :raises msgspec.ValidationError: when the parameters lack `clientInfo`.
        """
        params = msgspec.convert(client_request.params(), _Params)
        answer = await self._codex_answer()
        asked = params.capabilities or _Capabilities()
        opted_out = frozenset(asked.opt_out_notification_methods or ())
        opted_out |= unknown_to(params.client_info.name)
        client_request.client.introduce(
            params.client_info.name, opted_out, experimental=asked.experimental_api
        )
        client_request.answer(
            {
                **answer,
                "userAgent": _renamed(str(answer.get("userAgent", "")), params.client_info),
            }
        )

    async def _codex_answer(self) -> dict[str, Any]:
        try:
            await self._link.connected(CONNECT_DEADLINE_S)
        except ProviderFailure as error:
            log.warning("initialized_without_codex", detail=str(error))
        if self._link.identity is None:
            return {
                "userAgent": f"trimpoint/{__version__}",
                "codexHome": "",
                "platformFamily": "unix",
                "platformOs": "linux",
            }
        answer: dict[str, Any] = msgspec.json.decode(self._link.identity.raw)
        return answer


@contextmanager
def initialize_deadline(
    client: Client, deadline_s: float, since: float | None = None
) -> Generator[None]:
    """Closes the connection of a client that has not sent `initialize` within `deadline_s` seconds,
    and tells it why.

    The seconds count from `since`, a time of the event loop's clock, or from now. Without the
    deadline, forgotten connections would use up the permitted number of clients.
    """
    loop = asyncio.get_running_loop()
    overdue = loop.call_at(
        (loop.time() if since is None else since) + deadline_s, _dismiss, client, deadline_s
    )
    try:
        yield
    finally:
        overdue.cancel()


def _dismiss(client: Client, deadline_s: float) -> None:
    if client.handshake is None:
        problem = f"this client has not sent initialize within {deadline_s:g} s"
        refusal = encode_refusal(
            Reason.NOT_INITIALIZED,
            problem,
            "connect again and send initialize",
            versioned=client.versioned,
        )
        client.connection.send(refusal)
        client.connection.close("it did not send initialize", CloseCode.POLICY_VIOLATION)


@contextmanager
def begun_handshake(client: Client) -> Generator[None]:
    """Marks the client's `initialize` as arrived, before anything is awaited, so that the requests
    behind it wait for its answer. If it fails, the client may send it again.

    :raises Refusal: when the client has sent `initialize` before.
    """
    if client.handshake is not None:
        raise Refusal(Reason.ALREADY_INITIALIZED, "Already initialized")
    begun = client.handshake = anyio.Event()
    try:
        yield
    finally:
        if not client.initialized:
            client.handshake = None
        begun.set()


async def require_initialized(client: Client) -> None:
    """Waits until the client's `initialize` has been answered; requests may be sent without waiting
    for that answer.

    :raises Refusal: when the client has not sent `initialize`, or it failed.
    """
    if client.handshake is not None:
        await client.handshake.wait()
    if not client.initialized:
        raise Refusal(Reason.NOT_INITIALIZED, "Not initialized", "Send initialize first.")


def _renamed(user_agent: str, info: _ClientInfo) -> str:
    """Returns Codex's user agent with the client's name and version in place of the daemon's.

    Codex begins its user agent with the client's name, and ends it with that name and version.
    """
    _, slash, rest = user_agent.partition("/")
    body, bracket, ours = rest.rpartition(" (")
    its_own = (
        f"{body}{bracket}{info.name}; {info.version})" if ours.startswith("trimpoint; ") else rest
    )
    return f"{info.name}{slash}{its_own}"
