"""Refuses requests for Codex's experimental API to clients that did not ask for it in `initialize`
(docs/spec/clients.md).

The daemon's own connection to Codex has the whole experimental API. Codex itself would refuse such
a request, and would send fewer notifications; its answers are the same either way (measured on
0.163 and 0.171).
"""

from typing import Any

import anyio
import msgspec
import structlog
from msgspec import Raw

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.experimental import (
    ExperimentalApi,
    SchemaUnavailable,
    experimental_api,
)
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest

log = structlog.get_logger()

INVALID_REQUEST = -32600


class ExperimentalGate:
    """Checks requests against the experimental API of the Codex binary in use.

    The API is read from the binary when the first client without the experimental API sends a
    request, and again after each restart of Codex.
    """

    def __init__(self, link: CodexLink) -> None:
        self._link = link
        self._learning = anyio.Lock()
        self._learnt_in: int | None = None
        """The epoch of Codex in which the experimental API was read."""
        self._api: ExperimentalApi | None = None

    async def check(self, client_request: ClientRequest) -> None:
        """Returns if the client may send this request.

        :raises ProviderError: in Codex's words, when the request uses the experimental API and the
            client did not ask for it.
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
            # Without Codex's schema, no request is refused. Any other error means that Codex cannot
            # run.
            log.warning("experimental_api_unknown", detail=error.reason)
            return None


def _params(client_request: ClientRequest) -> dict[str, Any] | None:
    """Returns the request's parameters, or None when they are not an object; Codex answers such a
    request itself.
    """
    try:
        return client_request.params()
    except Refusal:
        return None


def _refusal(message: str) -> ProviderError:
    raw = msgspec.json.encode({"code": INVALID_REQUEST, "message": message})
    return ProviderError(INVALID_REQUEST, message, None, Raw(raw))
