"""Answers `initialize` for each client (docs/spec/clients.md), with a user agent that names that
client, as Codex itself would.
"""

import asyncio
import os
import platform
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec
import structlog
from trimpoint_protocol.errors import Reason

from trimpoint import __version__
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.appserver.launch_requests import codex_home
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.appserver.versions import binary_version, version_text
from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.codex_tui import unknown_to
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.system import SYSTEM
from trimpoint.transport.framing_errors import encode_refusal
from trimpoint.transport.wire import CloseCode

log = structlog.get_logger()

PATIENCE_S = 8.0
"""How long `initialize` waits for a Codex that starts. A client can still use our own methods, and
Codex's own gives up after 10 seconds (measured: 0.171).
"""
PATIENCE_AS_CODEX_S = 0.5
"""The same in the place of Codex's background server: plain `codex` takes one that does not answer
within two seconds for none, and ends (measured: 0.171).
"""

_VERSION_PATIENCE_S = 1.0


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

    def __init__(self, link: CodexLink, patience_s: float) -> None:
        self._link = link
        self._patience_s = patience_s

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
            await self._link.connected(self._patience_s)
        except ProviderFailure as error:
            log.warning("initialized_without_codex", detail=str(error))
        if self._link.identity is None:
            return await self._own_answer()
        answer: dict[str, Any] = msgspec.json.decode(self._link.identity.raw)
        return answer

    async def _own_answer(self) -> dict[str, Any]:
        """Returns what Codex would say of itself, as far as it is known before it has started. If
        its version is not known either, it is trimpoint's own.
        """
        profile, system, version = self._link.profile, platform.uname(), None
        with anyio.move_on_after(_VERSION_PATIENCE_S):
            version = await anyio.to_thread.run_sync(
                binary_version, profile.codex, abandon_on_cancel=True
            )
        number = version_text(version) if version is not None else __version__
        machine = f"{system.system}; {system.machine}"
        return {
            "userAgent": f"trimpoint/{number} ({machine}) unknown (trimpoint; {__version__})",
            "codexHome": str(codex_home(profile, os.environ)),
            "platformFamily": "unix",
            "platformOs": SYSTEM.naming.codex,
        }


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
