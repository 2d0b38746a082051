"""Handles `turn/interrupt`, for every turn that clients see, and ends the turn even if Codex does
not answer.
"""

from typing import Any

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.jsonrpc import INVALID_REQUEST

from trimpoint.codex.appserver.errors import ProviderError, ProviderTimeout
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.commands.within_turns import WithinTurns
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.played_turns import PlayedTurn, PlayedTurns
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.provider.lost_endings import NOT_ANSWERED, LostEndings

# Played turns that wait for the model.
WRITTEN = frozenset({"compact", "handoff"})


class Interrupts:
    """Handles `turn/interrupt`. `handlers` maps method names to handlers."""

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        lost: LostEndings,
        played: PlayedTurns,
        starts: TurnStarts,
        within: WithinTurns,
    ) -> None:
        self._registry, self._sessions, self._threads, self._identity = deps
        self._requests = requests
        self._lost = lost
        self._played = played
        self._starts = starts
        self._within = within
        self.handlers: dict[str, Handler] = {"turn/interrupt": self._interrupt}

    async def _interrupt(self, client_request: ClientRequest) -> Any:
        """Interrupts a running turn, a played turn, or a compaction whose turn clients see. An
        empty id is that of whatever runs, and the client's own prompt that waits goes first.
        """
        turn_id = str(client_request.params().get("turnId"))
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        # For Codex, too, an empty id is that of whatever is running (measured: 0.163).
        if not turn_id and self._starts.withdraw(thread_id, client_request.client):
            return {}
        played = (
            self._played.running(thread_id, turn_id) if turn_id else self._cancellable(thread_id)
        )
        if played is not None:
            return await self._interrupt_command(played)
        if await self._within.stop(thread_id, turn_id):
            return {}
        if self._sessions.interrupt_recovery(thread_id, turn_id):
            return {}
        if self._is_compaction(thread_id, turn_id) and await self._sessions.cancel_compaction(
            thread_id
        ):
            return {}
        return await self._interrupt_turn(client_request, thread_id, turn_id)

    def _cancellable(self, thread_id: str) -> PlayedTurn | None:
        turn = self._played.newest(thread_id)
        is_one = turn is not None and (turn.asking is not None or turn.command in WRITTEN)
        return turn if is_one else None

    async def _interrupt_command(self, turn: PlayedTurn) -> dict[str, Any]:
        """Interrupts a played turn, and returns the answer when it has ended, as Codex does."""
        if turn.asking is not None:
            turn.asking.cancel()
            await turn.ended.wait()
            return {}
        if turn.command not in WRITTEN:
            problem = (
                f"/{turn.command} cannot be interrupted: it ends in a moment, and half of it would "
                "be worse than all of it."
            )
            raise Refusal(Reason.NOT_SUPPORTED, problem)
        turn.is_unwanted = True
        await self._sessions.cancel_compaction(turn.thread_id)
        await turn.ended.wait()
        return {}

    def _is_compaction(self, thread_id: str, turn_id: str) -> bool:
        """Returns whether the thread's compaction is meant: by the id of its turn, by that of its
        operation, which `commands/progress` tells, or by an empty id.
        """
        operation = self._sessions.open_operation(thread_id)
        if turn_id == "" or (operation is not None and turn_id == operation.id):
            return True
        router = self._threads.router
        return any(
            watch.turn_id == turn_id
            and (route := router.route_of(scratch_id)) is not None
            and route.thread_id == thread_id
            for scratch_id, watch in router.watches.items()
        )

    async def _interrupt_turn(
        self, client_request: ClientRequest, thread_id: str, turn_id: str
    ) -> Any:
        turn_id = turn_id or self._running_turn(thread_id)
        entries = self._lost.entries_of(thread_id)
        try:
            await self._requests.forward(client_request, deadline_s=self._lost.limits.answer_s)
        except ProviderTimeout:
            await self._lost.end(thread_id, turn_id, NOT_ANSWERED)
            return {}
        except ProviderError as error:
            if error.code == INVALID_REQUEST:
                if await self._lost.interrupted_at_last(thread_id, turn_id):
                    self._lost.interrupted(thread_id, turn_id)
                    return {}
                self._lost.denied(thread_id, turn_id, entries)
            raise
        self._lost.interrupted(thread_id, turn_id)
        return None

    def _running_turn(self, thread_id: str) -> str:
        writer = self._registry.loaded(thread_id)
        return (writer.state.running_turn_id if writer is not None else None) or ""
