"""Tells Codex's terminal UI when its turn was interrupted because Codex has ended. Without it the
UI says "interrupted", as if a person had done it.
"""

from trimpoint.core.model import events as ev
from trimpoint.gateway.commands.lone_messages import send_lone_message
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.operations.routing.thread_messages import WENT_AWAY
from trimpoint.threads.registry import ThreadRegistry


class LostCodexNotices:
    """Says it to those who have the thread open."""

    def __init__(self, registry: ThreadRegistry, clients: Clients) -> None:
        self._clients = clients
        registry.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        for event in record.events:
            if isinstance(event, ev.TurnCompleted) and (event.error or "").startswith(WENT_AWAY):
                text = f"{event.error}. It is started again with your next prompt."
                send_lone_message(
                    filter(is_codex_tui, self._clients.subscribers(thread_id)), thread_id, text
                )
