"""Handles `thread/fork`, at any turn of a thread's history.

Codex can fork only at turns that ran in the present provider thread. At turns from before a trim,
and in a thread that was cleared to nothing, the fork is made from the ledger: a new provider thread
gets the context as it was after the turn.
"""

from typing import Any, NamedTuple

from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.versions import forgets_settings
from trimpoint.core.context.active_context import has_sealed_summary
from trimpoint.core.context.generations import context_for_new_provider_thread
from trimpoint.core.context.provider_compactions import newest_own_compaction
from trimpoint.core.decide.reverting import target_after, target_items, target_pins
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.methods.threads.rollout_paths import RolloutPaths
from trimpoint.gateway.methods.threads.thread_methods import ThreadMethods
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.history.adoption import as_it_is, as_it_was
from trimpoint.operations.phases import complete_context
from trimpoint.operations.provider.forking import FORKED_AT
from trimpoint.operations.provider.given_again import params_of_fork
from trimpoint.operations.provider.settings import fork_as_start_params
from trimpoint.operations.sessions import ReadySession
from trimpoint.threads.off_loop import active_turns, off_loop
from trimpoint.threads.writing.writer import ThreadWriter

NOT_BOTH = "`beforeTurnId` cannot be combined with `lastTurnId`"  # as Codex says it


class Forked(NamedTuple):
    """The raw items of a fork's context, and the parent with only the turns that it inherits."""

    items: list[bytes]
    parent: ThreadState


class Forks:
    """Handles `thread/fork`. `handlers` maps method names to handlers."""

    def __init__(self, deps: MethodDeps, requests: ThreadRequests, methods: ThreadMethods) -> None:
        _, self._sessions, self._threads, self._identity = deps
        self._requests = requests
        self._methods = methods
        self._paths = RolloutPaths(deps)
        self.handlers: dict[str, Handler] = {"thread/fork": self._fork}

    async def _fork(self, client_request: ClientRequest) -> None:
        thread_id, params = await self._paths.named_in(client_request)
        if thread_id is None:
            return await self._methods.adopt(client_request, params, "forked")
        if self._requests.is_archived(thread_id):
            if client_request.params().get("path"):  # which Codex may fork, as another thread
                self._requests.refuse_archived(thread_id)
            return await self._requests.forward(client_request)
        async with self._sessions.present(thread_id) as session:
            return await self._fork_of(session, client_request, params)

    async def _fork_of(
        self, session: ReadySession, client_request: ClientRequest, params: dict[str, Any]
    ) -> None:
        state = session.writer.state
        named_turns = [str(params[name]) for name in FORKED_AT if params.get(name) is not None]
        if len(named_turns) > 1:
            raise Refusal(Reason.INVALID_PARAMS, NOT_BOTH)
        named = named_turns[0] if named_turns else None
        if named is not None and self._is_made_from_ledger(state, named):
            return await self._from_ledger(client_request, session, params)
        if named is None and self._would_report_an_interruption(state):
            return await self._from_ledger(client_request, session, params)
        turns = {
            name: self._identity.provider_turn(str(params[name]))
            for name in FORKED_AT
            if params.get(name) is not None
        }
        if forgets_settings(self._threads.link.version):
            params = params_of_fork(state.settings, params)
        asked = {**params, **turns, "threadId": session.provider_thread_id}
        try:
            # A trim that is recorded before Codex answers is none of the fork's.
            parent = as_it_is(state)
            return await self._methods.adopt(client_request, asked, "forked", parent)
        except ProviderError:
            if not (_is_fresh(state) if named is None else _is_past_turn(state, named)):
                raise
        # Codex has no rollout of a thread without a turn, and does not know the turns that a fork
        # inherited.
        return await self._from_ledger(client_request, session, params)

    def _is_made_from_ledger(self, state: ThreadState, turn_id: str) -> bool:
        """Returns whether a fork at the turn is made from the ledger, because Codex does not know
        the turn, or its fork would have more than the context of that turn.
        """
        return not ran_in_provider_thread(state, turn_id) or (
            not self._threads.forks_exactly
            and _is_past_turn(state, turn_id)
            and not has_sealed_summary(state)
        )

    def _would_report_an_interruption(self, state: ThreadState) -> bool:
        """Returns whether Codex's fork would tell the model that a person interrupted it, because
        the thread ends with injected items (`operations/provider/forking.py`), and the ledger has
        the context.
        """
        last = state.turns[-1] if state.turns else None
        return (
            not self._threads.forks_exactly
            and last is not None
            and last.injected > 0
            and state.running_turn_id is None
            and not has_sealed_summary(state)
            and newest_own_compaction(state) is None
        )

    async def _from_ledger(
        self, client_request: ClientRequest, session: ReadySession, params: dict[str, Any]
    ) -> None:
        """Answers with a fork that has the context at the turn that the parameters name, or the
        present context if they name none.
        """
        state = session.writer.state
        items, parent = await self._forked(session.writer, params)
        asked = {**params, "threadId": state.id}

        async def opened() -> Raw:
            return await self._threads.forking.start_in_place(state, asked)

        settings = fork_as_start_params(state.settings, params, self._threads.link.version)
        settings["excludeTurns"] = params.get("excludeTurns")
        await self._methods.adopt(client_request, settings, "forked", parent, opened, items)

    async def _forked(self, writer: ThreadWriter, params: dict[str, Any]) -> Forked:
        """Returns what a fork at the turn that the parameters name has, all as it is at one moment:
        turns may be taken back meanwhile.

        :raises Refusal: when the thread has no such turn any more, or the context begins with a
            sealed summary, which only Codex can read.
        """
        kept = _turns_kept(writer.state, params)
        if kept is None:
            await complete_context(writer, await active_turns(writer.state))
            return await off_loop(writer.state, _as_it_is)
        target = target_after(writer.state, kept)
        if target.is_sealed:
            problem = (
                "Only Codex has the summary that the turn builds on, so the thread cannot be "
                "forked there."
            )
            raise Refusal(Reason.NOT_SUPPORTED, problem, "Fork it at a later turn, or as it is.")
        first = target.point.turn_index if target.point is not None else 0
        await complete_context(writer, writer.state.turns[first:kept])
        return await off_loop(writer.state, lambda now: _as_it_was(now, params))


def _as_it_is(now: ThreadState) -> Forked:
    items = context_for_new_provider_thread(now)
    return Forked(items, as_it_was(now, len(now.turns), now.generation.pins, now=True))


def _as_it_was(now: ThreadState, params: dict[str, Any]) -> Forked:
    kept = _turns_kept(now, params) or 0
    target = target_after(now, kept)
    return Forked(target_items(now, target), as_it_was(now, kept, target_pins(now, target)))


def ran_in_provider_thread(state: ThreadState, turn_id: str) -> bool:
    """Returns whether Codex knows the turn. Returns True also for a turn that is not in the ledger,
    so that Codex reports it as unknown.
    """
    at = state.turn_index.get(turn_id)
    if at is None:
        return True
    return (
        state.turns[at].generation == state.generation.number
        and turn_id not in state.generation.turn_ids
    )


def _is_past_turn(state: ThreadState, turn_id: str) -> bool:
    return turn_id in state.turn_index and turn_id != state.running_turn_id


def _is_fresh(state: ThreadState) -> bool:
    """Returns whether no turn has run in the present provider thread."""
    generation = state.generation
    ran = any(
        turn.generation == generation.number and turn.id not in generation.turn_ids
        for turn in state.turns[-1:]
    )
    return not ran and not has_sealed_summary(state)


def _turns_kept(state: ThreadState, params: dict[str, Any]) -> int | None:
    """Returns how many turns a fork at the named turn has, or None if the parameters name none.

    :raises Refusal: when the thread has no such turn any more.
    """
    last, before = (params.get(name) for name in ("lastTurnId", "beforeTurnId"))
    if last is None and before is None:
        return None
    at = state.turn_index.get(str(before if last is None else last))
    if at is None:
        raise Refusal(Reason.INVALID_PARAMS, "That turn was taken back meanwhile.")
    return at if last is None else at + 1
