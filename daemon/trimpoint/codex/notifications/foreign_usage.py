"""The token usage of threads that are not ours, such as sub-agents and ephemeral threads, kept in
memory while Codex has them loaded.

A sub-agent has its own context, so its usage must not be taken for its parent's
(docs/spec/context.md).
"""

import time
from collections.abc import Callable

import msgspec

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import translate
from trimpoint.core.model import events as ev
from trimpoint.core.model.usage import UsageTotals, add_report

USAGE_UPDATED = "thread/tokenUsage/updated"


class ForeignThreadUsage:
    """The token usage of threads that are not ours, by thread id."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[str], None]] = []
        self._usage: dict[str, UsageTotals] = {}

    def subscribe(self, subscriber: Callable[[str], None]) -> None:
        """Calls `subscriber(thread_id)` each time the usage of a thread was reported."""
        self._subscribers.append(subscriber)

    def usage_of(self, thread_id: str) -> UsageTotals | None:
        """Returns the usage of a thread that was reported in this epoch, or None."""
        return self._usage.get(thread_id)

    def on_notification(self, thread_id: str, message: CodexMessage) -> None:
        """Handles a notification about a thread that is not ours."""
        if message.method == "thread/closed":
            self._usage.pop(thread_id, None)
        elif message.method == USAGE_UPDATED:
            self._record(thread_id, message)

    def forget_epoch(self) -> None:
        """Forgets all usage, because Codex has ended."""
        self._usage.clear()

    def _record(self, thread_id: str, message: CodexMessage) -> None:
        try:
            facts = translate(message, 0, b"{}")
        except msgspec.MsgspecError:
            return
        usage = self._usage.setdefault(thread_id, UsageTotals())
        for fact in facts:
            if isinstance(fact, ev.UsageReported):
                add_report(usage, fact, time.time_ns() // 1_000_000, b"{}", is_live=True)
        for subscriber in self._subscribers:
            subscriber(thread_id)
