"""Answers methods for threads of which Codex knows only the present provider thread. For all other
threads Codex answers itself.
"""

from typing import Any

from trimpoint.gateway.methods.history.history_occurrences import occurrences_page
from trimpoint.gateway.methods.history.history_positions import positions_page
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads
from trimpoint.gateway.methods.threads.thread_requests import ThreadRequests
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.requests.request import ClientRequest, Handler


class WholeThreads:
    """Handles `thread/searchOccurrences` and `thread/timeline/list`. `handlers` maps method names
    to handlers.
    """

    def __init__(self, requests: ThreadRequests, reads: ThreadReads) -> None:
        self._requests = requests
        self._reads = reads
        self.handlers: dict[str, Handler] = {
            "thread/searchOccurrences": self._search_occurrences,
            "thread/timeline/list": self._timeline_list,
        }

    async def _search_occurrences(self, client_request: ClientRequest) -> Any:
        state = await self._reads.known_in_part(client_request)
        if state is None:
            return await self._requests.forward(client_request)
        return await occurrences_page(state, client_request.params())

    async def _timeline_list(self, client_request: ClientRequest) -> Any:
        state = await self._reads.known_in_part(client_request)
        if state is None:
            return await self._requests.forward(client_request)
        with_messages = is_codex_tui(client_request.client)
        return positions_page(state, client_request.params(), with_messages=with_messages)
