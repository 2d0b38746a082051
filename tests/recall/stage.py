"""Threads in a state directory, and what is found in them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.recall.history import History
from trimpoint.recall.index import Where
from trimpoint.recall.recall import Recall
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

THREAD = "01900000-0000-7000-8000-000000000001"
OTHER = "01900000-0000-7000-8000-000000000002"


class Stage(NamedTuple):
    """A registry over a state directory, with its index."""

    registry: ThreadRegistry
    recall: Recall
    history: History

    async def begin(self, thread_id: str = THREAD, cwd: str = "/work") -> ThreadWriter:
        """Begins a thread."""
        return await self.registry.create(
            internal.CreateThread(thread_id, cwd, "started", b"{}", thread_id)
        )

    async def found(
        self, query: str, where: Where | None = None, *, pruned: bool = False
    ) -> list[str]:
        """Returns the first words of what is found, the best first."""
        page = await self.history.search(query, where or Where(), pruned_only=pruned, limit=20)
        return [hit.placed.text for hit in page.hits]


@asynccontextmanager
async def stage(folder: Path) -> AsyncGenerator[Stage]:
    """Runs a registry and its index, as a daemon does."""
    store = StateDirectory(folder)
    with store.lock():
        async with ThreadRegistry.running(store, Policy()) as registry:
            recall = Recall(store, registry)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(recall.run)
                yield Stage(registry, recall, History(recall, registry))
                tasks.cancel_scope.cancel()


def said(turn_id: str, *texts: str) -> tuple[ev.AnyEvent, ...]:
    """A whole turn in which these messages were said."""
    entries = [
        ev.EntryRecorded(turn_id, f"{turn_id}-{number}", "message", "user", text)
        for number, text in enumerate(texts)
    ]
    return ev.TurnStarted(turn_id, 1), *entries, ev.TurnCompleted(turn_id, "completed")


async def record(writer: ThreadWriter, *events: ev.AnyEvent) -> None:
    """Records facts; they are durable on return."""
    writer.record_facts(*events)
    await writer.flush()
