"""Handles `thread/sample`: one answer of the model over a thread's context, which Codex gives only
after a turn that it ran itself.
"""

from typing import Any

from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.threads.forks import ran_in_provider_thread
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.operations.sessions import Sessions


class Samples:
    """Handles `thread/sample`. `handlers` maps method names to handlers; `ask` forwards the request
    to Codex.
    """

    def __init__(self, sessions: Sessions, identity: Identity, ask: Handler) -> None:
        self._sessions = sessions
        self._identity = identity
        self._ask = ask
        self.handlers: dict[str, Handler] = {"thread/sample": self._sample}

    async def _sample(self, client_request: ClientRequest) -> Any:
        thread_id = self._identity.thread_named_in(client_request)
        if thread_id is not None and self._sessions.is_compacting(thread_id):
            # Codex refuses it too during its own compaction (measured: 0.171).
            problem = "The context is being compacted; nothing was sent to the model."
            hint = "Send a prompt; behind its turn this works again."
            raise Refusal(Reason.ALREADY_IN_PROGRESS, problem, hint)
        try:
            return await self._ask(client_request)
        except ProviderError:
            if thread_id is None:
                raise
            state = (await self._sessions.ready(thread_id)).writer.state
            if not _came_before_a_trim(state, client_request.params().get("expectedTurnId")):
                raise
        raise Refusal(
            Reason.NOT_SUPPORTED,
            "The thread was trimmed after its newest turn, and Codex samples only behind a turn "
            "that ran since. Nothing was sent to the model.",
            "Send a prompt first; behind its turn this works again.",
        )


def _came_before_a_trim(state: ThreadState, turn_id: Any) -> bool:
    """Returns whether `turn_id` is the newest turn, and ran before the present provider thread was
    started.
    """
    newest = state.turns[-1].id if state.turns else None
    return newest is not None and newest == turn_id and not ran_in_provider_thread(state, newest)
