"""Recognizes the model's answer to a compaction that Codex runs by itself in the middle of a turn.

Codex reports that answer like any other (measured: 0.163, 0.171), but it stands for the earlier
context and must not be recorded as a part of the turn.
"""

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.context.provider_compactions import COMPACTION

_MARK = COMPACTION.encode()
_WRITTEN_BY_OTHERS = frozenset({"user", "developer", "system"})


class ProviderCompactions:
    """Tracks which provider threads Codex is compacting, by its notifications in order."""

    def __init__(self) -> None:
        self._under_way: set[str] = set()

    def is_compaction_reply(self, provider_thread_id: str, message: CodexMessage) -> bool:
        """Returns whether the notification is the model's answer to a compaction. Call it for every
        notification except deltas.
        """
        method = message.method
        if method == "item/started":
            if _MARK in message.line and message.object("item").get("type") == COMPACTION:
                self._under_way.add(provider_thread_id)
        elif provider_thread_id in self._under_way:
            if method == "rawResponseItem/completed":
                return str(message.object("item").get("role")) not in _WRITTEN_BY_OTHERS
            if method == "turn/completed" or (
                method == "item/completed" and message.object("item").get("type") == COMPACTION
            ):
                self._under_way.discard(provider_thread_id)
        return False

    def forget_epoch(self) -> None:
        """Forgets all compactions, because Codex has ended."""
        self._under_way.clear()
