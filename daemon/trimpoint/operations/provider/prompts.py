"""Keeps the parameters of `turn/start` while the turn may be repeated, because the ledger has only
the prompt and not all options.
"""

from typing import Any

import msgspec
from msgspec import Raw

from trimpoint.core.decide.overflow import prompt_of
from trimpoint.core.model.state import ThreadState

MAX_THREADS = 256


class Prompts:
    """The prompt of each thread's running turn, for at most `MAX_THREADS` threads, because a prompt
    can be large.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[str, bytes]] = {}

    def note(self, thread_id: str, turn_id: str, params: dict[str, Raw]) -> None:
        """Keeps a client's `turn/start` that Codex accepted, unless it only added to the running
        turn.
        """
        newest = self._newest.get(thread_id)
        if newest is None or newest[0] != turn_id:
            self._newest.pop(thread_id, None)
            self._newest[thread_id] = (turn_id, msgspec.json.encode(params))
            if len(self._newest) > MAX_THREADS:
                del self._newest[next(iter(self._newest))]

    def forget(self, thread_id: str) -> None:
        """Removes the prompt of a turn that can no longer be repeated."""
        self._newest.pop(thread_id, None)

    def of(self, state: ThreadState, turn_id: str) -> dict[str, Any]:
        """Returns the parameters to repeat the turn with. If they were not kept, they have only the
        prompt from the ledger.
        """
        newest = self._newest.get(state.id)
        if newest is not None and newest[0] == turn_id:
            sent: dict[str, Any] = msgspec.json.decode(newest[1])
            return sent
        return {"input": prompt_of(state, turn_id)}
