"""Handles `turn/interrupt`, for every turn that clients see, and ends the turn even if Codex does
not answer.
"""

from typing import Any

from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError, ProviderTimeout
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.played_turns import PlayedTurn, PlayedTurns
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.provider.lost_endings import NOT_ANSWERED, LostEndings


class Interrupts:
    """Handles `turn/interrupt`. `handlers` maps method names to handlers."""

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        lost: LostEndings,
        played: PlayedTurns,
    ) -> None:
        _, self._sessions, self._threads, self._identity = deps
        self._requests = requests
        self._lost = lost
        self._played = played
        self.handlers: dict[str, Handler] = {"turn/interrupt": self._interrupt}

    async def _interrupt(self, client_request: ClientRequest) -> Any:
        """Interrupts a running turn, a played turn, or a compaction whose turn clients see."""
        turn_id = str(client_request.params().get("turnId"))
        played = self._played.by_id(turn_id)
        if played is not None:
            return await self._interrupt_command(played)
        if await self._interrupt_compaction(turn_id):
            return {}
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        if self._sessions.interrupt_recovery(thread_id, turn_id):
            return {}
        if await self._interrupt_operation(thread_id, turn_id):
            return {}
        return await self._interrupt_turn(client_request, thread_id, turn_id)

    async def _interrupt_command(self, turn: PlayedTurn) -> dict[str, Any]:
        """Interrupts a played turn, and returns the answer when it has ended, as Codex does."""
        if turn.asking is not None:
            turn.asking.cancel()
            await turn.ended.wait()
            return {}
        if turn.command != "compact":
            problem = (
                f"/{turn.command} cannot be interrupted: it ends in a moment, and half of it would "
                "be worse than all of it."
            )
            raise Refusal(Reason.NOT_SUPPORTED, problem)
        turn.is_unwanted = True
        await self._sessions.cancel_compaction(turn.thread_id)
        await turn.ended.wait()
        return {}

    async def _interrupt_compaction(self, turn_id: str) -> bool:
        """Cancels the compaction whose turn has this id, and returns whether there was one."""
        inbound = self._threads.inbound
        for scratch_id, watch in inbound.watches.items():
            if watch.turn_id is not None and watch.turn_id == turn_id:
                route = inbound.route_of(scratch_id)
                return route is not None and await self._sessions.cancel_compaction(route.thread_id)
        return False

    async def _interrupt_operation(self, thread_id: str, operation_id: str) -> bool:
        """Cancels the thread's compaction if it has this operation id, and returns whether it did.

        A client of `commands/execute` knows a compaction by that id, from `commands/progress`.
        """
        is_meant = self._sessions.open_operation_id(thread_id) == operation_id
        return is_meant and await self._sessions.cancel_compaction(thread_id)

    async def _interrupt_turn(
        self, client_request: ClientRequest, thread_id: str, turn_id: str
    ) -> Any:
        try:
            await self._requests.forward(client_request, deadline_s=self._lost.limits.answer_s)
        except ProviderTimeout:
            await self._lost.end(thread_id, turn_id, NOT_ANSWERED)
            return {}
        except ProviderError:
            self._lost.denied(thread_id, turn_id)
            raise
        self._lost.interrupted(thread_id, turn_id)
        return None
