"""A prompt of the editor. It is answered exactly once."""

import asyncio
from typing import Protocol

from trimpoint.acp.connection.peer import Incoming, RpcError
from trimpoint.acp.wire.answers import PromptEnded

CANCEL_DEADLINE_S = 40.0
"""After a cancel the prompt is answered even if the daemon is silent. The daemon itself ends a turn
that Codex does not end, at the latest 25 seconds after the interrupt.
"""


class Work(Protocol):
    """What a prompt started: a turn or a command."""

    def cancel(self) -> None:
        """Cancels the work at the editor's request."""
        ...


class Prompt:
    """A prompt, created as soon as its request arrives, so that a cancellation directly after it
    applies to it.
    """

    def __init__(self, request: Incoming) -> None:
        self.request = request
        self.is_cancelled = False
        self._work: Work | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        """Returns whether the prompt was answered."""
        return self.request.is_answered

    def became(self, work: Work) -> None:
        """Records the turn or command that the prompt started."""
        self._work = work
        if self.is_cancelled:
            work.cancel()

    def cancel(self) -> None:
        """Cancels the prompt at the editor's request. If it has not started anything yet, it is
        answered at once.
        """
        if self.is_cancelled or self.is_over:
            return
        self.is_cancelled = True
        if self._work is None:
            self.end(PromptEnded(stop_reason="cancelled"))
            return
        self._deadline = asyncio.get_running_loop().call_later(
            CANCEL_DEADLINE_S, self.end, PromptEnded(stop_reason="cancelled")
        )
        self._work.cancel()

    def end(self, answer: PromptEnded) -> None:
        """Answers the prompt. A cancelled prompt is always answered as cancelled."""
        if self.is_cancelled:
            answer = PromptEnded(stop_reason="cancelled", meta=answer.meta)
        self._forget_deadline()
        self.request.answer(answer)

    def fail(self, error: RpcError) -> None:
        """Answers the prompt with an error, or as cancelled if it was cancelled."""
        if self.is_cancelled:
            return self.end(PromptEnded(stop_reason="cancelled"))
        self._forget_deadline()
        return self.request.refuse(error)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
