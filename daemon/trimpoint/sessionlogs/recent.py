"""A mapping that keeps its newest entries and so does not grow with the log. Pure."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps at least the newest `limit` keys, and at most twice as many. All operations take
    constant time.

    Removing the oldest key of a dict each time would have to skip all keys that were removed
    before.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def put(self, key: K, value: V) -> None:
        """Stores a value as the newest one."""
        self._new[key] = value
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, {}

    def get(self, key: K) -> V | None:
        """Returns the value of a key; None if it is no longer stored."""
        found = self._new.get(key)
        return found if found is not None else self._old.get(key)
