"""A prompt that the editor waits for. It is answered once, whatever happens."""

import asyncio
from typing import Protocol

from trimpoint.acp.connection.peer import Incoming, RpcError
from trimpoint.acp.wire.answers import PromptEnded

CANCEL_DEADLINE_S = 8.0
"""After a cancel the prompt is answered even if Codex is silent."""


class Work(Protocol):
    """The work that a prompt began: a turn or a command."""

    def cancel(self) -> None:
        """Cancels the prompt at the editor's request."""
        ...


class Prompt:
    """Made when the request comes, so that a cancel right behind it finds it."""

    def __init__(self, request: Incoming) -> None:
        self.request = request
        self.is_cancelled = False
        self._work: Work | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        """Returns whether it was answered."""
        return self.request.is_answered

    def became(self, work: Work) -> None:
        """Notes that the daemon has accepted the prompt."""
        self._work = work
        if self.is_cancelled:
            work.cancel()

    def cancel(self) -> None:
        """Cancels the prompt at the editor's request. One that has not become anything yet ends at
        once.
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
        """Answer it. A cancelled prompt has no other end."""
        if self.is_cancelled:
            answer = PromptEnded(stop_reason="cancelled", meta=answer.meta)
        self._forget_deadline()
        self.request.answer(answer)

    def fail(self, error: RpcError) -> None:
        """Answer it with an error; a cancelled one with its end."""
        if self.is_cancelled:
            return self.end(PromptEnded(stop_reason="cancelled"))
        self._forget_deadline()
        return self.request.refuse(error)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
