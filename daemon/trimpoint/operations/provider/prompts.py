"""Keeps the parameters that clients began turns with, for as long as a turn can be tried again: the
ledger has its input, not all its options.
"""

from typing import Any

import msgspec
from msgspec import Raw

from trimpoint.core.decide.overflow import prompt_of
from trimpoint.core.model.state import ThreadState

MAX_THREADS = 256


class Prompts:
    """Of each thread the prompt of the turn that runs; of no more threads than this, for a prompt
    can be as large as a message.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[str, bytes]] = {}

    def note(self, thread_id: str, turn_id: str, params: dict[str, Raw]) -> None:
        """Keeps a client's `turn/start` that Codex accepted, unless it only steered a running
        turn.
        """
        newest = self._newest.get(thread_id)
        if newest is None or newest[0] != turn_id:
            self._newest.pop(thread_id, None)
            self._newest[thread_id] = (turn_id, msgspec.json.encode(params))
            if len(self._newest) > MAX_THREADS:
                del self._newest[next(iter(self._newest))]

    def forget(self, thread_id: str) -> None:
        """Forgets a turn that cannot be tried again any more."""
        self._newest.pop(thread_id, None)

    def of(self, state: ThreadState, turn_id: str) -> dict[str, Any]:
        """Returns the parameters to begin the turn with once more, as far as they are known."""
        newest = self._newest.get(state.id)
        if newest is not None and newest[0] == turn_id:
            sent: dict[str, Any] = msgspec.json.decode(newest[1])
            return sent
        return {"input": prompt_of(state, turn_id)}
