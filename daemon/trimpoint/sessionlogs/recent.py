"""The newest entries of a mapping that would grow with the log. Pure."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Remembers at least the newest `limit` keys and at most twice as many, each at once.

    Taking out the oldest key of a dict one by one would look through all that were taken before.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def put(self, key: K, value: V) -> None:
        """Remembers a value, the newest one."""
        self._new[key] = value
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, {}

    def get(self, key: K) -> V | None:
        """Returns the value of a key, None if it is not known any more."""
        found = self._new.get(key)
        return found if found is not None else self._old.get(key)
