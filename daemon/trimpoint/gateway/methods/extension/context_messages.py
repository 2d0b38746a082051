"""Handles `context/messages/list`: the messages in the agent's context, for a client that chooses
which to discard.
"""

from trimpoint_protocol import methods as m

from trimpoint.core.context.segments import ContextSegment, context_segments
from trimpoint.core.decide.discarding import discard_refusal, total_tokens
from trimpoint.core.model.decision import DiscardPolicy
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry


class ContextMessages:
    """Handles `context/messages/list`. `table` maps method names to handlers."""

    def __init__(self, registry: ThreadRegistry, sessions: Sessions) -> None:
        self._registry = registry
        self._sessions = sessions
        self.table: dict[str, Handler] = {"context/messages/list": self._list}

    async def _list(self, call: Call, params: m.ThreadParams) -> m.ContextMessageList:
        owner: str | None = self._registry.owner_of(params.thread_id)
        writer = await self._registry.thread(owner or params.thread_id)
        if writer.read_only is None:
            await self._sessions.complete_context(writer)
        return await off_loop(
            writer.state, lambda state: message_list(state, self._registry.policy.discard)
        )


def message_list(state: ThreadState, policy: DiscardPolicy) -> m.ContextMessageList:
    """Returns the segments of the thread's context as messages for clients."""
    units, refusal = context_segments(state), discard_refusal(state)
    return m.ContextMessageList(
        messages=[_shown(segment) for segment in units],
        total_est_tokens=total_tokens(units),
        target_tokens=policy.target_tokens,
        floor_tokens=policy.floor_tokens,
        refusal=None if refusal is None else refusal.message,
    )


def _shown(segment: ContextSegment) -> m.ContextMessage:
    return m.ContextMessage(
        short_id=segment.short_id,
        turn_id=segment.turn_id,
        entry_ids=list(segment.entry_ids),
        role=segment.role,
        kind=str(segment.kind),
        preview=segment.preview,
        est_tokens=segment.tokens,
        protected=segment.protected,
        masked=segment.is_masked,
    )
