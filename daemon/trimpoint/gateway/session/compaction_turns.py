"""The turns of compactions as clients see them, while they run.

Codex runs such a turn in a fork and lists it only there, and a Codex that has ended reports no end.
So the turn is listed for its thread here, and is ended with its operation at the latest.
"""

from collections.abc import Iterator
from typing import Any

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.operations.routing.sub_agents import status_in
from trimpoint.operations.routing.thread_messages import ended_as_interrupted, idle

STARTED, ENDED = "turn/started", "turn/completed"


class CompactionTurns:
    """The running turns of compactions, except those that a played turn shows."""

    def __init__(self) -> None:
        self._turns: dict[str, dict[str, Any]] = {}
        self._active: set[str] = set()

    def __bool__(self) -> bool:
        """Returns whether a turn of a compaction is running."""
        return bool(self._turns)

    def runs_in(self, thread_id: str) -> bool:
        """Returns whether a turn of a compaction is running in the thread."""
        return thread_id in self._turns

    def of(self, thread_id: str) -> list[dict[str, Any]]:
        """Returns the thread's running turn as Codex lists it, or nothing."""
        turn = self._turns.get(thread_id)
        return [] if turn is None else [{**turn, "items": [], "itemsView": "summary"}]

    def note(self, thread_id: str, message: CodexMessage) -> bool:
        """Takes in a notification about a compaction that clients are about to be sent. Returns
        False when they must not be: it reports the end of a turn that has ended already.
        """
        if message.method == STARTED:
            self._turns[thread_id] = message.object("turn")
        elif message.method == ENDED:
            return self._turns.pop(thread_id, None) is not None
        elif message.method == "thread/status/changed":
            is_active = status_in(message) == "active"
            (self._active.add if is_active else self._active.discard)(thread_id)
        return True

    def endings(self, thread_id: str, why: str) -> Iterator[CodexMessage]:
        """Yields what Codex has not told clients about a compaction whose operation has ended: that
        the thread is idle, and that its turn has ended.
        """
        turn = self._turns.pop(thread_id, None)
        if turn is not None or thread_id in self._active:
            yield CodexMessage.compose(*idle(thread_id))
        self._active.discard(thread_id)
        if turn is not None:
            said = ended_as_interrupted(thread_id, str(turn.get("id")), why)
            yield CodexMessage.compose(*said)
