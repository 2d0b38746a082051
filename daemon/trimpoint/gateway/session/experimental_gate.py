"""Experimental API, for each client as it asked at `initialize` (docs/spec/clients.md); of Codex we
ask for all of it.

Measured on 0.163 and 0.171, one Codex with two connections: what a connection without it may ask
for and what it is told by Codex without being asked is less; answers are the same for both.
"""

from typing import Any

import anyio
import msgspec
import structlog
from msgspec import Raw

from trimpoint.codex.appserver.experimental import (
    ExperimentalApi,
    SchemaUnavailable,
    experimental_api,
)
from trimpoint.codex.appserver.peer import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.request import ClientRequest

log = structlog.get_logger()

INVALID_REQUEST = -32600


class ExperimentalGate:
    """The binary is asked what is experimental when the first client comes that must do without,
    and after each restart.
    """

    def __init__(self, link: CodexLink) -> None:
        self._link = link
        self._learning = anyio.Lock()
        self._learnt_in: int | None = None
        """The epoch of the child that the binary was looked at for."""
        self._api: ExperimentalApi | None = None

    async def check(self, client_request: ClientRequest) -> None:
        """Return when Codex would look at the request.

        :raises ProviderError: in Codex's words, when it would refuse it for the capability that the
            client lacks.
        """
        if client_request.client.experimental:
            return
        await self._learn()
        params = _params(client_request)
        used = (
            self._api.used_by(client_request.method, params)
            if self._api is not None and params is not None
            else None
        )
        if used is not None:
            raise _refusal(f"{used} requires experimentalApi capability")

    async def _learn(self) -> None:
        if self._learnt_in == self._link.epoch:
            return
        async with self._learning:
            if self._learnt_in != self._link.epoch:
                self._api = await self._ask()
                self._learnt_in = self._link.epoch

    async def _ask(self) -> ExperimentalApi | None:
        try:
            return await experimental_api(self._link.profile)
        except SchemaUnavailable as error:
            # Without Codex's schema nothing is refused. Another error says that Codex cannot run.
            log.warning("experimental_api_unknown", detail=error.reason)
            return None


def _params(client_request: ClientRequest) -> dict[str, Any] | None:
    """Returns the parameters; None when they are no object, which Codex says itself."""
    try:
        return (
            msgspec.json.decode(client_request.message.params or b"{}", type=dict[str, Any] | None)
            or {}
        )
    except msgspec.ValidationError:
        return None


def _refusal(message: str) -> ProviderError:
    raw = msgspec.json.encode({"code": INVALID_REQUEST, "message": message})
    return ProviderError(INVALID_REQUEST, message, None, Raw(raw))
