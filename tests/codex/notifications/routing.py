"""Notifications for a router, and a client that hears what it passes on."""

from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.operations.routing.notification_router import NotificationRouter

from tests.threads.stage import THREAD


class Listener:
    """A client sink that records its messages, and can be waited for."""

    def __init__(self) -> None:
        self.heard: list[tuple[str | None, str]] = []
        self.changed = anyio.Event()

    def publish(self, thread_id: str | None, message: CodexMessage) -> None:
        self.heard.append((thread_id, message.method))
        self.changed.set()
        self.changed = anyio.Event()

    def publish_compaction(self, thread_id: str, message: CodexMessage) -> None: ...

    def end_compaction(self, thread_id: str, why: str) -> None: ...

    def publish_run(self, thread_id: str, method: str, lines: list[bytes]) -> None: ...

    def ask(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> None: ...

    def expire_server_requests(self, reason: str) -> None: ...

    async def hears(self, count: int) -> list[str]:
        while len(self.heard) < count:
            await self.changed.wait()
        return [method for _, method in self.heard]


async def without_delay(thread_id: str) -> None:
    """Delays no end of a turn."""


def say(router: NotificationRouter, method: str, **params: Any) -> None:
    encoded = msgspec.json.encode({"threadId": THREAD, **params})
    line = msgspec.json.encode({"method": method, "params": Raw(encoded)})
    router.on_notification(method, Raw(encoded), line)
