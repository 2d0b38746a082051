"""Parts that handlers of app-server methods share: finding the thread of a request, refusing
archived threads, and forwarding to Codex.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import is_moving_error, is_unstored_error
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.ordered_request import LONG_DEADLINE_S, request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.gateway.session.requests.sizes import CONTENT
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.sessions import ReadySession, Sessions
from trimpoint.threads.errors import ThreadNotFound
from trimpoint.threads.registry import ThreadRegistry

# Requests that may run as long as a program, a tool, a download or a person takes.
MAY_TAKE_LONG = frozenset(
    {
        "command/exec", "mcpServer/tool/call", "mcpServer/oauth/login", "marketplace/add",
        "marketplace/upgrade", "plugin/install", "externalAgentConfig/import", "feedback/upload",
        "fs/copy", "fs/remove", "windowsSandbox/setupStart",
    }
)  # fmt: skip


# Codex answers these from what it has stored.
HISTORY = frozenset(
    {
        "thread/read", "thread/turns/list", "thread/items/list", "thread/items/read",
        "thread/searchOccurrences", "thread/timeline/list",
    }
)  # fmt: skip
Answer = TypeVar("Answer")
STORING_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


async def once_stored(state: ThreadState, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Returns what `ask` returns, which requests something about a thread. While Codex stores the
    first turn of the thread, or archives the thread before it, and refuses therefore, it is called
    again.

    :raises ProviderFailure: when there is no result.
    """
    for pause_s in STORING_PAUSES_S:
        try:
            return await ask()
        except ProviderError as error:
            has_begun = state.turns or state.turn_requests
            if not is_moving_error(error) and not (has_begun and is_unstored_error(error)):
                raise
        await anyio.sleep(pause_s)
    return await ask()


class MethodDeps(NamedTuple):
    """The collaborators of handlers of app-server methods."""

    registry: ThreadRegistry
    sessions: Sessions
    threads: ProviderThreads
    identity: Identity


class ThreadRequests:
    """Forwards requests about threads, and refuses those about archived ones."""

    def __init__(self, deps: MethodDeps) -> None:
        self._registry, _, self._threads, self._identity = deps

    async def forward(
        self,
        client_request: ClientRequest,
        *,
        deadline_s: float | None = None,
        shown: Callable[[Raw], Any] | None = None,
    ) -> None:
        """Forwards a request to Codex, and answers with Codex's result. Ids are translated in both
        directions.

        `shown`, if given, makes the result instead.
        """
        mapped = self.mapped_params(client_request)

        def answered(raw: Raw) -> None:
            client_request.answer(
                self._identity.to_client(bytes(raw)) if shown is None else shown(raw)
            )

        deadline_s = LONG_DEADLINE_S if client_request.method in MAY_TAKE_LONG else deadline_s
        ask = partial(
            request_in_order,
            self._threads.link,
            client_request.method,
            mapped,
            answered,
            deadline_s=deadline_s,
            on_sent=client_request.on_sent,
        )
        state = await self.state_of(client_request) if client_request.method in HISTORY else None
        await (ask() if state is None else once_stored(state, ask))

    def mapped_params(self, client_request: ClientRequest) -> Raw | dict[str, Raw] | None:
        """Returns the request's parameters with Codex's ids in them, or None if there are no
        parameters.
        """
        params, method = client_request.message.params, client_request.method
        if params is None:
            return None
        content = CONTENT.get(method)
        if content is None or not client_request.is_large:
            return Raw(self._identity.to_provider(bytes(params), method))
        # There is no id in content, and no time to look for one in megabytes.
        others = dict(client_request.members())
        carried = {name: others.pop(name) for name in (content.member,) if name in others}
        mapped = self._identity.to_provider(msgspec.json.encode(others), method)
        return {**msgspec.json.decode(mapped, type=dict[str, Raw]), **carried}

    def with_provider_id(
        self, client_request: ClientRequest, session: ReadySession
    ) -> dict[str, Raw]:
        """Returns the request's parameters with the id of the provider thread that serves the
        thread.
        """
        provider_id = Raw(msgspec.json.encode(session.provider_thread_id))
        return {**client_request.members(), "threadId": provider_id}

    async def state_of(self, client_request: ClientRequest) -> ThreadState | None:
        """Returns the state of the thread that a request names, or None if it is not one of
        ours.
        """
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return None
        try:
            return (await self._registry.thread(thread_id)).state
        except ThreadNotFound:
            return None

    def is_archived(self, thread_id: str) -> bool:
        """Returns whether Codex has archived the thread. Codex may not have done so while the
        thread's terminals run.

        :raises Refusal: when the thread is archived for clients only, or continues as another
            thread.
        """
        has_successor = self._registry.summaries[thread_id].new_thread_id is not None
        if has_successor or self._threads.is_loaded(self._identity.provider_of(thread_id)):
            self.refuse_archived(thread_id)
        return self._is_archived_here(thread_id)

    def refuse_archived(self, thread_id: str) -> None:
        """Raises if the thread is archived.

        :raises Refusal: when the thread is archived.
        """
        archived = self._is_archived_here(thread_id)
        successor = self._registry.summaries[thread_id].new_thread_id
        if archived and successor is not None:
            problem = f"The thread {thread_id} is archived; it went on as {successor}."
            hint = "Go on in that thread, or unarchive this one."
            raise Refusal(Reason.THREAD_ARCHIVED, problem, hint, new_thread_id=successor)
        if archived:
            raise Refusal(Reason.THREAD_ARCHIVED, f"The thread {thread_id} is archived.")

    def _is_archived_here(self, thread_id: str) -> bool:
        # The summary follows the writer's state only once the record is durable.
        writer = self._registry.loaded(thread_id)
        known = writer.state if writer is not None else self._registry.summaries[thread_id]
        return known.archived
