"""Defines the port through which Codex's messages reach the clients."""

from typing import Protocol

from msgspec import Raw

from trimpoint.codex.notifications.message import CodexMessage


class ClientSink(Protocol):
    """The clients, as Codex's side sees them."""

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        """Pass a notification on; `thread_id` is the stable id, None when it is about no thread of
        ours.
        """
        ...

    def publish_compaction(self, thread_id: str, message: CodexMessage) -> None:
        """Pass on a notification about the turn of a compaction of the thread."""
        ...

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Pass on notifications that all begin alike, to the end of their thread id."""
        ...

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None:
        """Puts a question of the agent to the clients. The implementation answers Codex."""
        ...

    def expire_server_requests(self, reason: str) -> None:
        """Withdraws the open requests of a session that has ended: no answer may reach Codex any
        more.
        """
        ...
