"""Forks of Codex threads that end with injected items: Codex itself would tell the model that a
person broke them off.
"""

from typing import Any, Protocol

import anyio
import anyio.to_thread
import msgspec
from msgspec import Raw

from trimpoint.codex.appserver.supervisor import (
    CodexLink,
)
from trimpoint.codex.history.rollout import Ending, injected_ending
from trimpoint.codex.history.rollout_files import conversation_lines
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.provider.settings import (
    fork_as_start_params,
)

# Parameters of `thread/fork` that name a turn.
FORKED_AT = ("beforeTurnId", "lastTurnId")
# Older ones take `lastTurnId` and fork the whole thread (measured: 0.133 does, 0.153 does not).
FORKS_BEHIND_A_TURN = (0, 153, 0)


class ForkedThreads(Protocol):
    """The port through which forking handles the threads that it makes; see `ProviderThreads`."""

    async def start(self, params: dict[str, Any]) -> Raw:
        """Starts a thread."""
        ...

    async def inject(self, provider_id: str, items: list[bytes]) -> None:
        """Appends items to what the model sees."""
        ...

    async def delete_quietly(self, provider_id: str | None) -> None:
        """Deletes a thread that is not used."""
        ...


class Forking:
    """Forks provider threads. `threads` starts, fills and deletes them."""

    def __init__(self, link: CodexLink, threads: ForkedThreads) -> None:
        self._link = link
        self._threads = threads

    async def fork(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """Calls `thread/fork` with these parameters and returns Codex's answer. Call inside
        `inbound.buffering()`.

        Codex takes a thread that ends with injected items for one that was broken off in a turn,
        and each fork of it tells the model that the person did so (measured: 0.133 to 0.171). Such
        a thread is forked behind its last turn, and the fork is given the items anew; where no turn
        ran, a new thread is given all of them.
        """
        ending = (
            None
            if any(params.get(name) for name in FORKED_AT)
            else await self._ending(state, params["threadId"])
        )
        if ending is None:
            return await self._link.request("thread/fork", params)
        if ending.last_turn_id is not None:
            raw = await self._link.request(
                "thread/fork", {**params, "lastTurnId": ending.last_turn_id}
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

    async def _ending(self, state: ThreadState, provider_id: str) -> Ending | None:
        """Returns the injected items that a provider thread of ours ends with; None where Codex
        does not fork behind a turn.
        """
        paths = [
            one.rollout_path for one in state.generations if one.provider_thread_id == provider_id
        ]
        if not paths or paths[-1] is None:
            return None
        ending = injected_ending(await anyio.to_thread.run_sync(conversation_lines, paths[-1]))
        if (
            ending is not None
            and ending.last_turn_id is not None
            and (self._link.version or (0,)) < FORKS_BEHIND_A_TURN
        ):
            return None
        return ending

    async def start_in_place(self, state: ThreadState, params: dict[str, Any]) -> Raw:
        """Starts an empty thread that is otherwise as `thread/fork` with these parameters would
        make it, and returns an answer like that of the fork.
        """
        request = {**fork_as_start_params(state.settings, params), "sessionStartSource": "clear"}
        answer = msgspec.json.decode(await self._threads.start(request))
        thread = answer["thread"]
        thread["forkedFromId"] = params["threadId"]
        if state.name is not None:
            await self._link.request(
                "thread/name/set", {"threadId": thread["id"], "name": state.name}
            )
            thread["name"] = state.name
        return Raw(msgspec.json.encode(answer))
