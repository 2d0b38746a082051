"""Holds back the end of a turn that overflowed, until it is known whether the recovery continues
the turn.

Always true: an ending is either passed on exactly once, in its order, or dropped because the turn
continues. Other notifications about the thread are not delayed.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

from trimpoint.background import spawn
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import error_kind
from trimpoint.core.model.commands import RecoverFromOverflow
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.events import CONTEXT_WINDOW_EXCEEDED
from trimpoint.operations.messages import AFTER_OVERFLOW
from trimpoint.operations.routing.thread_messages import own_warning
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

BEGUN, ENDED = "turn/started", "turn/completed"
FAILED = "error"
# Codex reports that the thread is in error, then the error, then the end of the turn (measured:
# 0.163, 0.171); the other method may come in between.
TURN_END_METHODS = frozenset({"thread/status/changed", "thread/readState/changed", FAILED, ENDED})
_MAY_BEGIN = frozenset({"thread/status/changed", FAILED})
IN_ERROR = b'"systemError"'
_OVERFLOWS = (b"contextWindowExceeded", b"context_length_exceeded")


class TurnEndBuffer:
    """Holds back the ends of turns. `forward` sends a message to the thread's clients, the end of a
    turn once it is durable.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        forward: Callable[[str, CodexMessage], None],
        tasks: TaskGroup,
    ) -> None:
        self._superseded_subscribers: list[Callable[[str], None]] = []
        self._registry = registry
        self._forward = forward
        self._tasks = tasks
        self._collecting: dict[str, list[CodexMessage]] = {}
        self._buffered: dict[str, list[CodexMessage]] = {}

    def subscribe_superseded(self, subscriber: Callable[[str], None]) -> None:
        """Calls `subscriber(thread_id)` when a buffered ending was released because another turn
        began.
        """
        self._superseded_subscribers.append(subscriber)

    def intercept(self, thread_id: str, message: CodexMessage) -> bool:
        """Takes a message if it belongs to the end of a turn that may continue, and returns whether
        it did.
        """
        method = message.method
        if method not in _MAY_BEGIN and not self._collecting and not self._buffered:
            return False  # the common case
        if self._collect(thread_id, message):
            if method == ENDED:
                self._decide_recovery(thread_id, turn_id_of(message))
            return True
        self._release(thread_id, self._collecting.pop(thread_id, []))
        if method == BEGUN and thread_id in self._buffered:
            # Codex began a queued prompt, so the turn before it has ended.
            self.release(thread_id)
            for subscriber in self._superseded_subscribers:
                subscriber(thread_id)
        return False

    def is_buffered(self, thread_id: str) -> bool:
        """Returns whether the end of a turn of this thread is held back."""
        return thread_id in self._buffered

    def release(self, thread_id: str, why: str = "") -> None:
        """Sends the end of a turn that was held back. If `why` is given, a warning before it says
        why the turn did not continue.
        """
        ending = self._buffered.pop(thread_id, [])
        if ending and why:
            warning = {"threadId": thread_id, **own_warning(why)}
            self._forward(thread_id, CodexMessage.compose("warning", warning))
        self._release(thread_id, ending)

    def forget(self, thread_id: str) -> None:
        """Drops the end of a turn that continues."""
        self._buffered.pop(thread_id, None)

    def forget_epoch(self) -> None:
        """Sends incomplete endings, because Codex has ended and will not complete them."""
        for thread_id in list(self._collecting):
            self._release(thread_id, self._collecting.pop(thread_id))

    def _collect(self, thread_id: str, message: CodexMessage) -> bool:
        method = message.method
        coming = self._collecting.get(thread_id)
        if coming is None:
            begins = (method == "thread/status/changed" and IN_ERROR in message.line) or (
                method == FAILED and _is_overflow(message)
            )
            if not begins:
                return False
            coming = self._collecting[thread_id] = []
        elif method not in TURN_END_METHODS:
            return False
        coming.append(message)
        return True

    def _decide_recovery(self, thread_id: str, turn_id: str) -> None:
        ending = self._collecting.pop(thread_id)
        writer = self._registry.loaded(thread_id)
        if (
            writer is not None
            and any(map(_is_overflow, ending))
            and self._begin_recovery(writer, turn_id)
        ):
            self._buffered[thread_id] = ending
        else:
            self._release(thread_id, ending)

    def _begin_recovery(self, writer: ThreadWriter, turn_id: str) -> bool:
        try:
            outcome = writer.submit(RecoverFromOverflow(turn_id))
        except JournalRefuses:
            return False
        if isinstance(outcome, Rejected):
            log.info("overflow_stands", thread_id=writer.thread_id, reason=outcome.message)
            return False
        spawn(self._tasks, self._confirm_durable, writer)
        return True

    async def _confirm_durable(self, writer: ThreadWriter) -> None:
        """Waits until the start of the recovery is durable. If it cannot be written, sends the end
        of the turn.
        """
        try:
            await writer.flush()
        except JournalRefuses:
            self.release(writer.thread_id)

    def _release(self, thread_id: str, ending: list[CodexMessage]) -> None:
        for message in ending:
            self._forward(thread_id, _with_advice(message) if _is_overflow(message) else message)


def _is_overflow(message: CodexMessage) -> bool:
    """Returns whether an `error` or `turn/completed` reports an overflow that Codex does not retry
    itself.
    """
    if message.method not in (FAILED, ENDED) or not any(
        word in message.line for word in _OVERFLOWS
    ):
        return False
    error = message.object("error") or as_dict(message.object("turn").get("error"))
    kind = error_kind(error.get("codexErrorInfo"), str(error.get("message", "")))
    return kind == CONTEXT_WINDOW_EXCEEDED and not message.member("willRetry")


def _with_advice(message: CodexMessage) -> CodexMessage:
    """Returns an overflow's `error` or `turn/completed` with advice for a person added, unless
    Codex gives details itself.
    """
    whole: dict[str, Any] = msgspec.json.decode(message.line)
    params = as_dict(whole.get("params"))
    error = as_dict(params.get("error")) or as_dict(as_dict(params.get("turn")).get("error"))
    if error.get("additionalDetails"):
        return message
    error["additionalDetails"] = AFTER_OVERFLOW
    encoded = Raw(msgspec.json.encode(params))
    return CodexMessage(message.method, encoded, msgspec.json.encode({**whole, "params": encoded}))


def turn_id_of(message: CodexMessage) -> str:
    """Returns the id of the turn in a `turn/started` or `turn/completed`."""
    return str(message.object("turn").get("id"))
