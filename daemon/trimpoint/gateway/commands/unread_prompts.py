"""Prompts that clients have sent into running turns, and that Codex has not yet said it has read.
Codex would forget them if the turn were interrupted.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from trimpoint.core.model.state import ThreadState
from trimpoint.threads.writing.writer import ThreadWriter


class _Expected(NamedTuple):
    turn_id: str
    prompts: int


class UnreadPrompts:
    """The prompts that are expected in the running turn of each thread."""

    def __init__(self) -> None:
        self._expected: dict[str, _Expected] = {}

    @contextmanager
    def sending(self, writer: ThreadWriter) -> Generator[None]:
        """Expects one more prompt in the running turn, unless the block raises: Codex has refused
        it. Does nothing where no turn runs.
        """
        before = self._expected.get(writer.thread_id)
        turn_id = writer.state.running_turn_id
        if turn_id is not None:
            known = before.prompts if before is not None and before.turn_id == turn_id else 0
            prompts = max(known, _read(writer.state, turn_id)) + 1
            self._expected[writer.thread_id] = _Expected(turn_id, prompts)
        try:
            yield
        except BaseException:
            now = self._expected.get(writer.thread_id)
            if now is not None and now.turn_id == turn_id:
                self._expected[writer.thread_id] = now._replace(prompts=now.prompts - 1)
            raise

    def has_any(self, state: ThreadState) -> bool:
        """Returns whether the running turn has a prompt that the agent has not read."""
        expected = self._expected.get(state.id)
        return (
            expected is not None
            and expected.turn_id == state.running_turn_id
            and _read(state, expected.turn_id) < expected.prompts
        )


def _read(state: ThreadState, turn_id: str) -> int:
    entries = state.entries_of(state.turns[state.turn_index[turn_id]])
    return sum(entry.role == "user" for entry in entries)
