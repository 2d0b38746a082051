"""Decides when an unused daemon may end: no client is connected, no request is being answered, no
turn, operation or background terminal is running, and all that was recorded is durable.
"""

import time
from collections.abc import Iterable
from typing import Any, Protocol

import anyio
import msgspec

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.login_codes import LoginCodes
from trimpoint.threads.catalogue import is_unfinished
from trimpoint.threads.registry import ThreadRegistry

_LOOK_AGAIN_S = 5.0


class Worker(Protocol):
    """A part of the daemon that may have work to do while no client is connected."""

    async def is_working(self) -> bool:
        """Returns whether this part has work under way."""
        ...


class Usage:
    """Decides whether a client or a worker still needs the daemon."""

    def __init__(self, clients: Clients, codes: LoginCodes, workers: Iterable[Worker]) -> None:
        self._clients = clients
        self._codes = codes
        self._workers = workers

    async def ended(self, after_s: float) -> None:
        """Waits until no client has been connected for `after_s` seconds and no work is under
        way.
        """
        while not await self._is_over(after_s):
            rest_s = after_s - self._clients.absent_s
            await anyio.sleep(rest_s if rest_s > 0 else min(after_s, _LOOK_AGAIN_S))

    async def _is_over(self, after_s: float) -> bool:
        if self._clients.absent_s < after_s or self._codes.are_open(time.monotonic()):
            return False
        for worker in self._workers:
            if await worker.is_working():
                return False
        return self._clients.absent_s >= after_s  # a client may have come while Codex was asked


class Work:
    """The work under way with one Codex; `registry` is the registry of its threads."""

    def __init__(self, registry: ThreadRegistry, link: CodexLink) -> None:
        self._registry = registry
        self._link = link

    async def is_working(self) -> bool:
        """Returns whether a turn, an operation or a background terminal is running in any of the
        threads, or anything of them is not durable.
        """
        return (
            self.has_unfinished_thread()
            or await self._has_terminals()
            or self.has_unfinished_thread()
        )

    def has_unfinished_thread(self) -> bool:
        """Returns whether a turn or an operation is running, or anything is not durable."""
        # Open work of a read-only thread never ends, so it does not count.
        writers = self._registry.loaded_writers()
        return any(
            writer.read_only is None and (is_unfinished(writer.state) or not writer.is_quiescent)
            for writer in writers
        )

    async def _has_terminals(self) -> bool:
        """Returns whether an agent left a background terminal running; True also when Codex does
        not answer.
        """
        if self._link.peer is None:
            return False
        try:
            for provider_id in await self._listed("thread/loaded/list", {}):
                if await self._listed("thread/backgroundTerminals/list", {"threadId": provider_id}):
                    return True
        except ProviderError:
            return False  # a Codex that has no such method, or a thread that was unloaded meanwhile
        except ProviderFailure:
            # Codex may have ended meanwhile.
            return self._link.peer is not None  # pyright: ignore[reportUnnecessaryComparison]
        return False

    async def _listed(self, method: str, params: dict[str, Any]) -> list[Any]:
        return list(msgspec.json.decode(await self._link.request(method, params)).get("data") or ())
