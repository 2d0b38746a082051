"""Tells Codex's reports of names that it was given from those of names that other programs gave."""

from collections import Counter


class NameReports:
    """The names that were given to provider threads and that Codex has not reported yet. Of several
    at once, the last one noted need not be the last one sent.
    """

    def __init__(self) -> None:
        self._awaited: dict[str, Counter[str]] = {}

    def expect(self, provider_id: str, name: str) -> None:
        """Notes that Codex is being given this name."""
        self._awaited.setdefault(provider_id, Counter())[name] += 1

    def is_own(self, provider_id: str, name: object) -> bool:
        """Returns whether Codex reports a name that it was given, which is awaited once less."""
        awaited = self._awaited.get(provider_id, Counter[str]())
        if not isinstance(name, str) or name not in awaited:
            return False
        awaited[name] -= 1
        if not awaited[name]:
            del awaited[name]
        return True

    def forget_epoch(self) -> None:
        """Expects no report any more, because Codex has ended."""
        self._awaited.clear()
