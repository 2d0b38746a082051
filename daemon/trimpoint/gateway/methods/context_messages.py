"""`context/messages/list`: what the agent's context holds, for whoever wants to choose what goes."""

from trimpoint_protocol import methods as m

from trimpoint.core.context.segments import Unit, context_units
from trimpoint.core.decide.discarding import impossible, total_tokens
from trimpoint.core.model.decision import DiscardPolicy
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.session.dispatch import Call, Handler
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.registry import Engine


class ContextMessages:
    """`table` maps method names to handlers."""

    def __init__(self, engine: Engine, sessions: Sessions, policy: DiscardPolicy) -> None:
        self._engine = engine
        self._sessions = sessions
        self._policy = policy
        self.table: dict[str, Handler] = {"context/messages/list": self._list}

    async def _list(self, call: Call, params: m.ThreadParams) -> m.ContextMessageList:
        owner: str | None = self._engine.owner_of(params.thread_id)
        writer = await self._engine.thread(owner or params.thread_id)
        if writer.read_only is None:
            await self._sessions.complete_context(writer)
        return message_list(writer.state, self._policy)


def message_list(state: ThreadState, policy: DiscardPolicy) -> m.ContextMessageList:
    """The context as clients see it."""
    units, refusal = context_units(state), impossible(state)
    return m.ContextMessageList(
        messages=[_shown(unit) for unit in units],
        total_est_tokens=total_tokens(units),
        target_tokens=policy.target_tokens,
        floor_tokens=policy.floor_tokens,
        refusal=None if refusal is None else refusal.message,
    )


def _shown(unit: Unit) -> m.ContextMessage:
    return m.ContextMessage(
        short_id=unit.short_id,
        turn_id=unit.turn_id,
        entry_ids=list(unit.entry_ids),
        role=unit.role,
        kind=str(unit.kind),
        preview=unit.preview,
        est_tokens=unit.tokens,
        protected=unit.protected,
    )
