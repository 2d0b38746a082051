"""Notifies clients when a thread is archived, unarchived, deleted or reverted, and of an overflow
recovery's progress.

Codex's own notifications name provider threads, of which one thread has several in its life, so
these are sent here for the thread.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase, is_open
from trimpoint.gateway.session.clients import Client, Clients
from trimpoint.gateway.session.codex_tui import send_to_read_again


class LifecycleNotifications:
    """Sends the lifecycle notifications. `on_record` subscribes to the registry's records."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._deferred: dict[str, list[Callable[[], None]]] = {}
        self._recovering: set[str] = set()

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Sends every client the notifications that Codex would send for the events of a durable
        record.
        """
        if any(
            isinstance(one, ev.ThreadArchived | ev.ArchivedAndNewCreated) for one in record.events
        ):
            self._notify("thread/status/changed", threadId=thread_id, status={"type": "notLoaded"})
        tellings = (
            [partial(self._notify, "thread/deleted", threadId=thread_id)]
            if _deletes(record)
            else [partial(self._notify_of, thread_id, event) for event in record.events]
        )
        if thread_id in self._deferred:
            self._deferred[thread_id] += tellings
        else:
            for tell in tellings:
                tell()

    @contextmanager
    def deferred(self, thread_id: str) -> Generator[None]:
        """Defers the thread's notifications until the block ends, because Codex sends its response
        first (measured: 0.163).
        """
        outermost = self._deferred.setdefault(thread_id, [])
        try:
            yield
        finally:
            if self._deferred.get(thread_id) is outermost:
                for tell in self._deferred.pop(thread_id):
                    tell()

    def reverted(self, thread_id: str) -> None:
        """Notifies clients that turns of the thread were reverted outside Codex."""
        self._notify("thread/reverted", threadId=thread_id)

    def taken_back(self, thread_id: str, by: Client) -> None:
        """Makes the thread's other subscribers read it again after the client `by` has reverted
        turns.
        """
        send_to_read_again(
            client for client in self._clients.subscribers(thread_id) if client is not by
        )

    def _notify_of(self, thread_id: str, event: ev.AnyEvent) -> None:
        match event:
            case ev.ThreadArchived() | ev.ArchivedAndNewCreated():
                self._notify("thread/archived", threadId=thread_id)
            case ev.ThreadUnarchived():
                self._notify("thread/unarchived", threadId=thread_id)
            case ev.OverflowRecoveryRequested():
                self._recovering.add(event.operation_id)
            case ev.OperationAdvanced() if event.operation_id in self._recovering:
                self._notify_progress(thread_id, event)
            case _:
                pass

    def _notify_progress(self, thread_id: str, event: ev.OperationAdvanced) -> None:
        step = {
            "command": "overflow",
            "phase": event.phase,
            "message": event.message,
            "operationId": event.operation_id,
        }
        self._notify("commands/progress", threadId=thread_id, **step)
        if not is_open(Phase(event.phase)):
            self._recovering.discard(event.operation_id)

    def _notify(self, method: str, **params: Any) -> None:
        self._clients.broadcast(
            str(params["threadId"]),
            method,
            lambda: msgspec.json.encode({"method": method, "params": params}),
        )


def _deletes(record: ev.Record) -> bool:
    """Returns whether the record ends a deletion; no other operation archives its thread."""
    kinds = {type(event) for event in record.events}
    return {ev.ThreadArchived, ev.OperationAdvanced} <= kinds
