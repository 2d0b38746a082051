"""Defines the port through which Codex's messages reach clients."""

from typing import Protocol

from msgspec import Raw

from trimpoint.codex.notifications.message import CodexMessage


class ClientSink(Protocol):
    """The clients, as the code that handles Codex's messages needs them."""

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        """Sends a notification to clients; `thread_id` is the stable id, or None if it does not
        concern a thread of ours.
        """
        ...

    def publish_compaction(self, thread_id: str, message: CodexMessage) -> None:
        """Sends a notification about the turn of the thread's compaction to clients."""
        ...

    def end_compaction(self, thread_id: str, why: str) -> None:
        """Ends the turn of a compaction whose operation has ended, for clients that were not told
        its end.
        """
        ...

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Sends notifications of one method to clients; they are identical up to the end of their
        thread id.
        """
        ...

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None:
        """Sends a request of Codex to clients, and their answer to Codex."""
        ...

    def expire_server_requests(self, reason: str) -> None:
        """Withdraws the open requests of a Codex that has ended, so that no later answer is
        sent.
        """
        ...
