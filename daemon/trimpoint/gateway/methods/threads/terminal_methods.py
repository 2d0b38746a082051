"""Handles `thread/backgroundTerminals/*` for a thread: the terminals of all its generations
(docs/spec/sessions.md).
"""

from typing import Any

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.provider.provider_threads import ProviderThreads


class TerminalMethods:
    """Handles requests about background terminals. `handlers` maps method names to handlers."""

    def __init__(self, threads: ProviderThreads, identity: Identity) -> None:
        self._threads = threads
        self._identity = identity
        self.handlers: dict[str, Handler] = {
            "thread/backgroundTerminals/list": self._list,
            "thread/backgroundTerminals/terminate": self._on_each,
            "thread/backgroundTerminals/clean": self._on_each,
        }

    async def _list(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._threads.link.request(client_request.method, client_request.params())
        holders = self._holders(thread_id)
        if len(holders) == 1:
            return await self._threads.link.request(
                client_request.method, {**client_request.params(), "threadId": holders[0]}
            )
        running = [
            terminal
            for holder in holders
            for terminal in await self._threads.terminals.running(holder)
        ]
        return {"data": running, "nextCursor": None}

    async def _on_each(self, client_request: ClientRequest) -> Any:
        """Forwards the request to each provider thread that may have the terminal. Succeeds if any
        of them has it.
        """
        params, answer, refusal = client_request.params(), None, None
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._threads.link.request(client_request.method, params)
        for holder in self._holders(thread_id):
            try:
                held = await self._threads.link.request(
                    client_request.method, {**params, "threadId": holder}
                )
            except ProviderError as error:
                refusal = error
            else:
                answer = held if answer is None or b"true" in bytes(held) else answer
        if answer is None and refusal is not None:
            raise refusal
        return answer

    def _holders(self, thread_id: str) -> list[str]:
        """Returns the ids of the thread's provider threads that may have terminals, the present one
        last.
        """
        current = self._identity.provider_of(thread_id)
        return [
            *self._threads.terminals.retained(thread_id),
            *([current] if current is not None else []),
        ]
