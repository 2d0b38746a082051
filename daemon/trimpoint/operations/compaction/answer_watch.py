"""Detects whether the model accepts the input of a turn, by the first output of the model."""

from typing import Any

import anyio
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.context.provider_compactions import COMPACTION
from trimpoint.operations.compaction.compaction import CompactionFailed

# Items of a turn that do not come from the model.
_NOT_THE_MODEL_S = frozenset({"userMessage", "hookPrompt", COMPACTION})


class AnswerWatch:
    """Follows a turn until the model produces output, or the turn ends without any. Output of a
    compaction does not count.
    """

    def __init__(self) -> None:
        self.turn_id: str | None = None
        self.is_answered = False
        self._error = "it ended without an answer"
        self._is_compacting = False
        self._decided = anyio.Event()

    def on_message(self, message: CodexMessage) -> None:
        """Handles a notification or request of Codex about the thread."""
        method = message.method
        if method == "turn/started":
            self.turn_id = str(message.object("turn").get("id"))
        elif method == "turn/completed":
            self._end(message.object("turn"))
        elif method in ("item/started", "item/completed"):
            self._on_item(method, message.object("item").get("type"))
        elif method == "rawResponseItem/completed":
            kind = str(message.object("item").get("type"))
            self._on_answer(kind == "reasoning" or kind.endswith("_call"))
        else:
            # A delta of the model's output, or a request about what the model wants to do.
            self._on_answer(method.startswith("item/"))

    def abort(self, reason: str) -> None:
        """Ends the wait, because Codex has ended; `reason` becomes the error."""
        self._error = reason
        self._decided.set()

    async def answered(self) -> None:
        """Waits until the model has produced output.

        :raises CompactionFailed: when the turn ended without output.
        """
        await self._decided.wait()
        if not self.is_answered:
            raise CompactionFailed(self._error)

    def _on_item(self, method: str, kind: Any) -> None:
        if kind == COMPACTION:
            self._is_compacting = method == "item/started"
        self._on_answer(kind not in _NOT_THE_MODEL_S)

    def _on_answer(self, is_one: bool) -> None:
        if (
            is_one
            and self.turn_id is not None
            and not self._is_compacting
            and not self._decided.is_set()
        ):
            self.is_answered = True
            self._decided.set()

    def _end(self, turn: dict[str, Any]) -> None:
        if not self._decided.is_set():
            self.is_answered = turn.get("status") == "completed"
            self._error = str(as_dict(turn.get("error")).get("message") or self._error)
            self._decided.set()
