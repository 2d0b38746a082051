"""Tells Codex's reports of names that it was given from those of names that other programs gave."""

from collections import deque


class NameReports:
    """The names that were given to provider threads and that Codex has not reported yet. Codex
    reports them in the order in which they were given.
    """

    def __init__(self) -> None:
        self._awaited: dict[str, deque[str]] = {}

    def expect(self, provider_id: str, name: str) -> None:
        """Notes that Codex is being given this name."""
        self._awaited.setdefault(provider_id, deque()).append(name)

    def is_own(self, provider_id: str, name: object) -> bool:
        """Returns whether Codex reports a name that it was given. Those given before it are awaited
        no longer.
        """
        awaited = self._awaited.get(provider_id, ())
        if name not in awaited:
            return False
        while self._awaited[provider_id].popleft() != name:
            pass
        if not self._awaited[provider_id]:
            del self._awaited[provider_id]
        return True

    def forget_epoch(self) -> None:
        """Expects no report any more, because Codex has ended."""
        self._awaited.clear()
