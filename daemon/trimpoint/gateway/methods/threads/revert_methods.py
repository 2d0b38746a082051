"""Handles `thread/revert` and `thread/rollback`, over all generations of a thread
(docs/spec/clients.md).

Codex reverts turns that ran in the present provider thread. It does not know turns that were
carried into that thread, so for those a new generation is opened with the remaining turns.
"""

from typing import Any

from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import ProviderUnavailable, lacks_method
from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import RollBackTurns
from trimpoint.core.model.operations import Phase
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.lifecycle_notifications import LifecycleNotifications
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.sessions import ReadySession


class RevertMethods:
    """Handles `thread/revert` and `thread/rollback`. `handlers` maps method names to handlers."""

    def __init__(
        self,
        deps: MethodDeps,
        requests: ThreadRequests,
        reads: ThreadReads,
        announcements: LifecycleNotifications,
        starts: TurnStarts,
    ) -> None:
        _, self._sessions, self._threads, self._identity = deps
        self._starts = starts
        self._link = self._threads.link
        self._requests = requests
        self._reads = reads
        self._announcements = announcements
        self.handlers: dict[str, Handler] = {
            "thread/revert": self._revert,
            "thread/rollback": self._rollback,
        }

    async def _revert(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is None:
            return await self._requests.forward(client_request)
        session = await self._sessions.ready(thread_id)
        turn_id = client_request.params().get("beforeTurnId")
        if not isinstance(turn_id, str) or turn_id not in session.writer.state.turn_index:
            return await self._requests.forward(client_request)  # Codex answers with the error
        return await self._roll_back_turns(client_request, session, turn_id)

    async def _rollback(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        count = client_request.params().get("numTurns")
        if thread_id is None or not isinstance(count, int) or count < 1:
            return await self._requests.forward(client_request)
        session = await self._sessions.ready(thread_id)
        active = session.writer.state.active_turns
        if count > len(active):
            raise Refusal(
                Reason.INVALID_PARAMS,
                f"The agent's context holds {len(active)} turns, fewer than {count}.",
            )
        return await self._roll_back_turns(client_request, session, active[-count].id)

    async def _roll_back_turns(
        self, client_request: ClientRequest, session: ReadySession, turn_id: str
    ) -> Any:
        state = session.writer.state
        turn = state.turns[state.turn_index[turn_id]]
        if turn.generation == state.generation.number and turn_id not in state.generation.turn_ids:
            request = {**client_request.params(), "threadId": session.provider_thread_id}
            if "beforeTurnId" in request:
                request["beforeTurnId"] = self._identity.provider_turn(turn_id)
            try:
                raw = await self._revert_in_codex(session, client_request.method, request, turn_id)
            except ProviderError as error:
                # A fork has turns of its parent, which Codex does not know.
                if state.parent_thread_id is None or lacks_method(error):
                    raise
            else:
                self._announcements.taken_back(state.id, client_request.client)
                turns = await self._reads.whole_turns(state, {})
                return self._reads.with_whole_history(raw, state, {}, turns)
        await self._open_without(session, turn_id)
        current = await self._sessions.ready(state.id)
        raw = await self._link.request(
            "thread/read", {"threadId": current.provider_thread_id, "includeTurns": False}
        )
        self._announcements.reverted(state.id)
        self._announcements.taken_back(state.id, client_request.client)
        now = current.writer.state
        turns = await self._reads.whole_turns(now, {})
        return self._reads.with_whole_history(raw, now, {}, turns)

    async def _revert_in_codex(
        self, session: ReadySession, method: str, request: dict[str, Any], turn_id: str
    ) -> Raw:
        """Has Codex take turns back, and returns its answer once the ledger has that durably. The
        thread is busy meanwhile. It is recorded before a turn that Codex begins next.
        """
        writer = session.writer
        async with self._starts.requested(session) as request_id:

            def taken_back(raw: Raw) -> Raw:
                writer.submit(RollBackTurns(turn_id, provider_did=True))
                writer.record_facts(ev.TurnRequestEnded(request_id))
                return raw.copy()

            raw = await request_in_order(self._link, method, request, taken_back)
            await writer.flush()
        return raw

    async def _open_without(self, session: ReadySession, turn_id: str) -> None:
        """Opens a new generation with the turns before `turn_id`.

        :raises CommandRefused: when the turn cannot be reverted, or the thread is busy.
        :raises ProviderUnavailable: when the generation could not be opened; the next turn tries
            again.
        """
        await session.writer.execute(RollBackTurns(turn_id, provider_did=False))
        await self._sessions.operation_ended(session.writer)
        operation = session.writer.state.operation
        if operation is not None and operation.phase is Phase.FAILED:
            raise ProviderUnavailable(operation.message)
