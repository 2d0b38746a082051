"""`initialize`, answered per client (spec §3): each is told of Codex under its own name, as Codex itself would."""

from typing import Any

import msgspec
import structlog
from trimpoint_protocol.errors import Reason

from trimpoint import __version__
from trimpoint.codex.link import CodexLink
from trimpoint.codex.peer import ProviderFailure
from trimpoint.gateway.exchange import Exchange
from trimpoint.gateway.refusals import Refusal

log = structlog.get_logger()

# A client's first request should not hang on a Codex that does not start; it can still use our own methods.
CONNECT_DEADLINE_S = 15.0


class Handshake:
    """Stateless but for the link that knows Codex."""

    def __init__(self, link: CodexLink) -> None:
        self._link = link

    async def initialize(self, exchange: Exchange) -> dict[str, Any]:
        """Agree with a client on what it is sent.

        :raises Refusal: when it was initialized before or says nothing of itself.
        """
        client = exchange.client
        if client.initialized:
            raise Refusal(Reason.ALREADY_INITIALIZED, "Already initialized")
        params = exchange.params()
        info = params.get("clientInfo")
        if not isinstance(info, dict) or not isinstance(info.get("name"), str):
            raise Refusal(Reason.INVALID_PARAMS, "initialize needs clientInfo with a name and a version.")
        answer = await self._codex_answer()
        capabilities = params.get("capabilities")
        opted_out = (capabilities or {}).get("optOutNotificationMethods") if isinstance(capabilities, dict) else None
        client.name = info["name"]
        client.opted_out = frozenset(str(method) for method in opted_out or ())
        client.initialized = True
        return {**answer, "userAgent": _renamed(str(answer.get("userAgent", "")), client.name)}

    async def _codex_answer(self) -> dict[str, Any]:
        try:
            await self._link.connected(CONNECT_DEADLINE_S)
        except ProviderFailure as error:
            log.warning("initialized_without_codex", detail=str(error))
        if self._link.identity is None:
            return {"userAgent": f"trimpoint/{__version__}", "codexHome": "", "platformFamily": "unix", "platformOs": "linux"}
        answer: dict[str, Any] = msgspec.json.decode(self._link.identity.raw)
        return answer


def _renamed(user_agent: str, name: str) -> str:
    """Codex begins its user agent with the name of the client it talks to."""
    _, slash, rest = user_agent.partition("/")
    return f"{name}{slash}{rest}"
