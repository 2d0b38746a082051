"""Deletes what Codex has of a thread, generation by generation.

Always true: that a thread is to be deleted is durable before the first generation is deleted, and
nobody can prompt the thread from then on. A deletion that has begun is finished, by the next daemon
if need be: a thread of which Codex has deleted a part is never given back.
"""

from itertools import chain, repeat

import anyio
import structlog

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import is_missing_error
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import Operation
from trimpoint.operations.phases import journal_phase
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.routing.routes import ThreadRole
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

# The pauses before Codex is asked again; the last one repeats.
RETRY_PAUSES_S = (1.0, 5.0, 30.0)


class Deletions:
    """Runs deletions. Their requests go to the Codex of `threads`."""

    def __init__(self, threads: ProviderThreads) -> None:
        self._threads = threads
        self._refused: dict[str, ProviderError] = {}

    async def step(self, writer: ThreadWriter, operation: Operation) -> None:
        """Deletes the provider threads of all generations, and archives the thread.

        :raises ProviderError: when Codex refuses to delete the present generation, which it does
            while forks refer to it. Then nothing has changed.
        """
        if operation.phase is Phase.REQUESTED:
            # Not deferred: before this is durable, nothing is deleted.
            await journal_phase(writer, operation, Phase.STOPPING, "Deleting the thread.")
        ids = [one.provider_thread_id for one in reversed(writer.state.generations)]
        for number, provider_id in enumerate(filter(None, ids)):
            try:
                await self._delete(provider_id)
            except ProviderError as error:
                if number == 0:
                    self._refused[operation.id] = error
                    raise
                # One that remains is hidden and harmless.
                log.info("generation_not_deleted", detail=str(error))
        # Codex has nothing left to archive.
        gone = ev.ThreadArchived(), ev.SessionStopped(writer.state.generation.number)
        await journal_phase(writer, operation, Phase.READY, "The thread is deleted.", "", *gone)

    def refusal(self, operation_id: str | None) -> ProviderError | None:
        """Returns why Codex refused a deletion, once; None if it did not."""
        return self._refused.pop(operation_id or "", None)

    async def _delete(self, provider_id: str) -> None:
        """Deletes a provider thread, and asks again while Codex does not answer."""
        pauses = chain(RETRY_PAUSES_S, repeat(RETRY_PAUSES_S[-1]))
        while not await self._is_deleted(provider_id):  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(next(pauses))

    async def _is_deleted(self, provider_id: str) -> bool:
        # Retired, so that clients are not notified of the deletion of a single generation.
        router, route = self._threads.router, self._threads.router.route_of(provider_id)
        if route is not None:
            router.bind(provider_id, route._replace(role=ThreadRole.RETIRED))
        try:
            await self._threads.link.request("thread/delete", {"threadId": provider_id})
        except ProviderError as error:
            if not is_missing_error(error):
                if route is not None:
                    router.bind(provider_id, route)
                raise
        except ProviderFailure as error:
            log.warning("not_deleted_yet", detail=str(error))
            return False
        self._threads.forget(provider_id)
        return True
