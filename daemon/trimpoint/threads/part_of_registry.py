"""The registry as the parts of one launch profile see it."""

from collections.abc import Callable
from contextlib import suppress

from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.threads.idle import InUse
from trimpoint.threads.registry import Subscriber, ThreadRegistry
from trimpoint.threads.writer import ThreadWriter


class PartOfRegistry(ThreadRegistry):
    """Shares everything with the whole registry, but subscribers are notified of the threads for
    which `owns(thread_id)` is true, and only those count as loaded. `policy` is what their meters
    are read by. `close` ends all listening.
    """

    def __init__(
        self, whole: ThreadRegistry, owns: Callable[[str], bool], policy: Policy | None = None
    ) -> None:
        self.__dict__.update(vars(whole))
        self.policy = policy or whole.policy
        self._whole = whole
        self._owns = owns
        self._heard: list[tuple[Subscriber, Subscriber]] = []
        self._kept: list[InUse] = []

    def subscribe(self, listener: Subscriber) -> None:
        """Does what `ThreadRegistry.subscribe` does, for these threads."""

        def hear(thread_id: str, record: ev.Record) -> None:
            if self._owns(thread_id):
                listener(thread_id, record)

        self._heard.append((listener, hear))
        self._whole.subscribe(hear)

    def unsubscribe(self, listener: Subscriber) -> None:
        """Stop calling `listener`."""
        for pair in [pair for pair in self._heard if pair[0] == listener]:
            self._heard.remove(pair)
            with suppress(ValueError):  # the daemon ends, and there are no subscribers any more
                self._whole.unsubscribe(pair[1])

    def loaded_writers(self) -> list[ThreadWriter]:
        """Returns the writers of these threads that are in memory."""
        loaded = self._whole.loaded_writers()
        return [writer for writer in loaded if self._owns(writer.thread_id)]

    def keep_in_memory(self, in_use: InUse) -> None:
        """Does what `ThreadRegistry.keep_in_memory` does, until `close`."""
        self._kept.append(in_use)
        self._whole.keep_in_memory(in_use)

    def close(self) -> None:
        """Stop calling everyone."""
        for listener, _ in list(self._heard):
            self.unsubscribe(listener)
        for in_use in self._kept:
            self._whole.release_from_memory(in_use)
