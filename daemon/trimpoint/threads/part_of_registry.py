"""The view of the registry for one launch profile."""

from collections.abc import Callable
from contextlib import suppress

from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.threads.idle import InUse
from trimpoint.threads.registry import Subscriber, ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter


class PartOfRegistry(ThreadRegistry):
    """Shares all data with the whole registry, but its subscribers receive only records of the
    threads for which `owns(thread_id)` is true, and only these count as loaded. `policy` is the
    policy for their meters. `close` ends all subscriptions.
    """

    def __init__(
        self, whole: ThreadRegistry, owns: Callable[[str], bool], policy: Policy | None = None
    ) -> None:
        self.__dict__.update(vars(whole))
        self.policy = policy or whole.policy
        self._whole = whole
        self._owns = owns
        self._subscriptions: list[tuple[Subscriber, Subscriber]] = []
        self._keeping: list[InUse] = []

    def subscribe(self, listener: Subscriber) -> None:
        """Calls `listener(thread_id, record)` for each durable record of the profile's threads."""

        def forward(thread_id: str, record: ev.Record) -> None:
            if self._owns(thread_id):
                listener(thread_id, record)

        self._subscriptions.append((listener, forward))
        self._whole.subscribe(forward)

    def unsubscribe(self, listener: Subscriber) -> None:
        """Stops calling `listener`."""
        for pair in [pair for pair in self._subscriptions if pair[0] == listener]:
            self._subscriptions.remove(pair)
            with suppress(ValueError):  # the daemon ends, and there are no subscribers any more
                self._whole.unsubscribe(pair[1])

    def loaded_writers(self) -> list[ThreadWriter]:
        """Returns the writers of the profile's threads that are in memory."""
        loaded = self._whole.loaded_writers()
        return [writer for writer in loaded if self._owns(writer.thread_id)]

    def keep_in_memory(self, in_use: InUse) -> None:
        """Keeps each thread in memory while `in_use(thread_id)` is true, until `close`."""
        self._keeping.append(in_use)
        self._whole.keep_in_memory(in_use)

    def close(self) -> None:
        """Removes all subscribers and predicates that were added through this object."""
        for listener, _ in list(self._subscriptions):
            self.unsubscribe(listener)
        for in_use in self._keeping:
            self._whole.release_from_memory(in_use)
