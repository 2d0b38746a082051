"""Sub-agents: threads that Codex starts for an agent of ours. While a sub-agent works, its parent
thread is busy (docs/spec/sessions.md).

In the parent's ledger, a working sub-agent is an open request `subAgent`, so that `busy` needs no
special case.
"""

from typing import Any

from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import SUB_AGENT
from trimpoint.threads.registry import ThreadRegistry

CALL_ITEM = "collabAgentToolCall"
SUB_AGENT_RESTS = frozenset({"thread/status/changed", "thread/closed"})
"""The notifications that report whether a sub-agent is working."""


class SubAgents:
    """Tracks the sub-agents of this epoch, and which of them are working."""

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry
        self._parents: dict[str, str] = {}
        self._active: set[str] = set()
        self._reported: set[str] = set()

    def on_parent_item(self, thread_id: str, message: CodexMessage) -> None:
        """Handles a completed item of a thread of ours. A call of another agent names that agent's
        thread (measured: 0.163).
        """
        item = message.object("item")
        named = as_list(item.get("receiverThreadIds")) if item.get("type") == CALL_ITEM else []
        for sub_agent_id in (one for one in named if isinstance(one, str)):
            self._parents[sub_agent_id] = thread_id
            self._report(sub_agent_id)

    def on_foreign_notification(self, provider_thread_id: str, message: CodexMessage) -> None:
        """Handles a notification about a thread that is not ours."""
        if message.method == "thread/closed":
            self._active.discard(provider_thread_id)
        elif message.method == "thread/status/changed":
            is_active = status_in(message) == "active"
            (self._active.add if is_active else self._active.discard)(provider_thread_id)
        self._report(provider_thread_id)

    def has_any(self, thread_id: str) -> bool:
        """Returns whether the thread has had sub-agents in this epoch; each of them may start to
        work again.
        """
        return thread_id in self._parents.values()

    def is_one(self, provider_thread_id: str) -> bool:
        """Returns whether the provider thread belongs to a sub-agent of a thread of ours, in this
        epoch.
        """
        return provider_thread_id in self._parents

    def forget_epoch(self) -> None:
        """Forgets all sub-agents, because Codex has ended. The parents' open requests end with
        their turns.
        """
        self._parents.clear()
        self._active.clear()
        self._reported.clear()

    def _report(self, sub_agent_id: str) -> None:
        owner = self._parents.get(sub_agent_id)
        writer = self._registry.loaded(owner) if owner is not None else None
        is_active = sub_agent_id in self._active
        if writer is None or is_active == (sub_agent_id in self._reported):
            return
        if is_active:
            self._reported.add(sub_agent_id)
            writer.record_facts(ev.RequestOpened(sub_agent_id, SUB_AGENT))
        else:
            self._reported.discard(sub_agent_id)
            writer.record_facts(ev.RequestClosed(sub_agent_id, "resolved"))


def status_in(message: CodexMessage) -> Any:
    """Returns the type of the status in a `thread/status/changed`."""
    return status_type(message.member("status"))


def status_type(status: Any) -> Any:
    """Returns the type of a thread's status, which is an object with a `type`, or the type."""
    return status if isinstance(status, str) else as_dict(status).get("type")
