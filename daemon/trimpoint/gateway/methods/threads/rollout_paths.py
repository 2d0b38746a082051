"""Finds the thread that a request names by `path`, the path of a rollout, instead of by its id.

Codex then ignores the id. A thread of ours has a file for each generation, and only the present one
may be used: another would bring the provider thread of an earlier generation back, beside the
thread.
"""

import os
from typing import Any, NamedTuple

import anyio.to_thread
import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.launch_requests import codex_home, is_same_path
from trimpoint.codex.history.rollout_files import thread_of_file
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest


class Named(NamedTuple):
    """The thread of ours that a request is about, or None, and the request's parameters. They name
    a thread of ours by its id alone.
    """

    thread_id: str | None
    params: dict[str, Any]


class RolloutPaths:
    """Finds the threads of rollouts."""

    def __init__(self, deps: MethodDeps) -> None:
        self._registry, _, self._threads, self._identity = deps
        self._link = self._threads.link

    async def named_in(self, client_request: ClientRequest) -> Named:
        """Returns the thread that the request's `path` names, or its id if there is no `path`.

        :raises Refusal: when the file is of a thread of ours, but not its present one.
        """
        params = client_request.params()
        named = params.get("path")
        if not isinstance(named, str) or not named:
            return Named(self._identity.thread_named_in(client_request), params)
        # Relative paths begin at Codex's home (measured: 0.163).
        path = os.path.join(codex_home(self._link.profile, os.environ), named)
        provider_id = await anyio.to_thread.run_sync(thread_of_file, path)
        thread_id = self._identity.thread_of(provider_id) if provider_id is not None else None
        if thread_id is None:
            return Named(None, params)
        present = await self._present_file(thread_id)
        if present is None or not await anyio.to_thread.run_sync(is_same_path, path, present):
            problem = f"The file {named} is not the present one of the thread {thread_id}."
            hint = "Omit `path`, and name the thread by its id."
            raise Refusal(Reason.INVALID_PARAMS, problem, hint)
        return Named(thread_id, {**params, "path": None, "threadId": thread_id})

    async def _present_file(self, thread_id: str) -> str | None:
        generation = (await self._registry.thread(thread_id)).state.generation
        request = {"threadId": generation.provider_thread_id, "includeTurns": False}
        try:
            raw = await self._link.request("thread/read", request)
        except ProviderError:
            # Codex has no file of a provider thread without a turn.
            return generation.rollout_path
        path: str | None = msgspec.json.decode(raw)["thread"].get("path")
        return path
