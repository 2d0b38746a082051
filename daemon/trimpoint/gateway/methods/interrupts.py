"""`turn/interrupt`: it ends whatever a client was told is a turn, and the turn ends whatever Codex makes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

from trimpoint.codex.appserver.peer import ProviderError, ProviderTimeout
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.thread_methods import ThreadMethods
from trimpoint.gateway.session.request import Exchange
from trimpoint.operations.provider.lost_endings import NOT_ANSWERED, LostEndings
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.sessions import Sessions

Handler = Callable[[Exchange], Awaitable[Any]]


class Interrupts:
    """`handlers` is the table, as in `ThreadMethods`."""

    def __init__(
        self, sessions: Sessions, threads: ProviderThreads, identity: Identity, methods: ThreadMethods, lost: LostEndings
    ) -> None:
        self._sessions = sessions
        self._threads = threads
        self._identity = identity
        self._methods = methods
        self._lost = lost
        self.handlers: dict[str, Handler] = {"turn/interrupt": self._interrupt}

    async def _interrupt(self, exchange: Exchange) -> Any:
        """A running turn, or the turn of a compaction that clients are shown."""
        params = exchange.params()
        turn_id = str(params.get("turnId"))
        for scratch_id, watch in self._threads.inbound.watches.items():
            if watch.turn_id is not None and watch.turn_id == turn_id:
                return await self._threads.link.request("turn/interrupt", {**params, "threadId": scratch_id})
        thread_id = self._identity.thread_named_in(exchange)
        if thread_id is None:
            return await self._methods.forward(exchange)
        if self._sessions.interrupt_recovery(thread_id, turn_id):
            return {}
        return await self._interrupt_turn(exchange, thread_id, turn_id)

    async def _interrupt_turn(self, exchange: Exchange, thread_id: str, turn_id: str) -> Any:
        try:
            await self._methods.forward(exchange, deadline_s=self._lost.limits.answer_s)
        except ProviderTimeout:
            await self._lost.end(thread_id, turn_id, NOT_ANSWERED)
            return {}
        except ProviderError:
            self._lost.denied(thread_id, turn_id)
            raise
        self._lost.interrupted(thread_id, turn_id)
        return None
