"""Forks provider threads, also those that end with injected items: Codex itself would tell the
model that a person interrupted them.

A fork has its context before we know its id. So it names the operation that it is made for, which
is durable before. If the answer is lost, because the daemon is killed or Codex ends, that fork and
no other is found by this name, and deleted.
"""

from typing import Any, Protocol

import anyio
import anyio.to_thread
import msgspec
import structlog
from msgspec import Raw

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.appserver.versions import FORKS_WITHOUT_INJECTED, TAKES_ANY_SOURCE
from trimpoint.codex.history.model_input import is_sealed, own_items
from trimpoint.codex.history.rollout import Ending, injected_ending, lines_before_turn
from trimpoint.codex.history.rollout_files import conversation_lines, threads_of_source
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.operations.provider.inherit import inherit_as_fork
from trimpoint.operations.provider.settings import fork_as_start_params

log = structlog.get_logger()

# Parameters of `thread/fork` that name a turn.
FORKED_AT = ("beforeTurnId", "lastTurnId")
# A clock may be set back by so much while an operation is under way.
CLOCK_STEPS_MS = 60_000


class ForkedThreads(Protocol):
    """The operations on provider threads that forking needs; see `ProviderThreads`."""

    async def start(self, params: dict[str, Any]) -> Raw:
        """Starts a provider thread, and returns Codex's answer."""
        ...

    async def inject(self, provider_id: str, items: list[bytes]) -> None:
        """Appends raw items to the model's context."""
        ...

    async def delete_quietly(self, provider_id: str | None) -> None:
        """Deletes a provider thread that is not used."""
        ...


class Forking:
    """Forks provider threads. `threads` starts, fills and deletes them."""

    def __init__(self, link: CodexLink, threads: ForkedThreads) -> None:
        self._link = link
        self._threads = threads

    @property
    def forks_exactly(self) -> bool:
        """Returns whether a fork at a turn has exactly the context of that turn."""
        return (self._link.version or (0,)) >= FORKS_WITHOUT_INJECTED

    async def fork_for_operation(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """Does as `fork` for the open operation: a fork whose answer is lost is deleted."""
        operation = state.open_operation
        if operation is None or params.get("ephemeral"):
            return await self.fork(state, params)
        if self._takes_any_source:
            params = {**params, "threadSource": _source_for(operation)}
        try:
            return await self.fork(state, params)
        except ProviderError:
            raise
        except ProviderFailure:  # it may have been made, or is about to be
            with anyio.CancelScope(shield=True):
                await self.delete_unknown(state)
            raise

    async def delete_unknown(self, state: ThreadState) -> None:
        """Deletes the forks that were made for the open operation and serve no generation. A Codex
        that is too old for their name leaves them. Never raises.
        """
        operation = state.open_operation
        paths = [one.rollout_path for one in state.generations if one.rollout_path is not None]
        if operation is None or not paths:
            return
        source, since_ms = _source_for(operation), operation.started_at_ms - CLOCK_STEPS_MS
        found = await anyio.to_thread.run_sync(threads_of_source, paths[-1], source, since_ms)
        serving = {one.provider_thread_id for one in state.generations}
        log.info("forks_looked_for", thread_id=state.id, found=found)
        for fork_id in found:
            if fork_id not in serving:
                await self._threads.delete_quietly(fork_id)

    @property
    def _takes_any_source(self) -> bool:
        return (self._link.version or (0,)) >= TAKES_ANY_SOURCE

    async def fork(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """Forks a provider thread with the parameters of `thread/fork`, and returns Codex's answer.
        Call it inside `router.buffering()`.

        Codex regards a thread that ends with injected items as interrupted in a turn, and tells the
        model of each fork that the person did so (measured: 0.133 to 0.171). Such a thread is
        forked after its last turn, and the items are injected again; if no turn ran in it, or this
        Codex cannot fork after a turn, a new thread gets all its items. The same holds for a fork
        before a turn that follows injected items.
        """
        ending = (
            None
            if params.get("lastTurnId")
            else await self._ending(state, params["threadId"], params.get("beforeTurnId"))
        )
        if ending is None:
            return await self._link.request("thread/fork", params)
        if ending.last_turn_id is not None:
            raw = await self._link.request(
                "thread/fork",
                {**params, "beforeTurnId": None, "lastTurnId": ending.last_turn_id},
            )
        else:
            raw = await self.start_in_place(state, params)
        fork_id = str(msgspec.json.decode(raw)["thread"]["id"])
        try:
            await self._threads.inject(fork_id, ending.injected)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._threads.delete_quietly(fork_id)
            raise
        return raw

    async def _ending(
        self, state: ThreadState, provider_id: str, before_turn_id: str | None
    ) -> Ending | None:
        """Returns the injected items at the end of a provider thread, or right before this turn of
        it, or None if there are none. Where Codex cannot fork after a turn, all items of the thread
        count as such, unless one of them is sealed.
        """
        paths = [
            one.rollout_path for one in state.generations if one.provider_thread_id == provider_id
        ]
        if not paths or paths[-1] is None:
            return None
        lines = await anyio.to_thread.run_sync(conversation_lines, paths[-1])
        shown = lines if before_turn_id is None else lines_before_turn(lines, before_turn_id)
        ending = injected_ending(shown)
        if ending is None or ending.last_turn_id is None or self.forks_exactly:
            return ending
        whole = own_items(shown)
        return None if any(map(is_sealed, whole)) else Ending(None, whole)

    async def start_in_place(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """Starts an empty thread with the properties that a fork would have, and returns an answer
        like that of `thread/fork`.
        """
        given = fork_as_start_params(state.settings, params, self._link.version)
        request = {**given, "sessionStartSource": "clear"}
        answer = msgspec.json.decode(await self._threads.start(request))
        thread = answer["thread"]
        thread["forkedFromId"] = params["threadId"]
        if not thread.get("ephemeral"):  # Codex keeps no such properties of an ephemeral thread
            thread.update(await self._inherited(state, thread["id"]))
        return Raw(msgspec.json.encode(answer))

    async def _inherited(self, state: ThreadState, fork_id: str) -> dict[str, Any]:
        """Gives a fork the properties of its parent, and returns those that its answer shows."""
        given: dict[str, Any] = {}
        if state.name is not None:
            named = {"threadId": fork_id, "name": state.name}
            await self._link.request("thread/name/set", named)
            given["name"] = state.name
        parent_id = state.generation.provider_thread_id
        if parent_id is not None:
            given |= await inherit_as_fork(self._link, parent_id, fork_id)
        return given


def _source_for(operation: Operation) -> str:
    """Returns the `threadSource` of forks that are made for an operation; clients are not shown it
    (`gateway/ids/identity.py`).
    """
    return f"trimpoint-{operation.id}"
