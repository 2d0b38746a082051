"""Background terminals that outlive their provider thread (docs/spec/sessions.md), such as a
development server that survives `/clear`.

Archiving or unloading a provider thread kills its processes, so a retired one with terminals stays
loaded.
"""

from typing import Any

import msgspec

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink


class Terminals:
    """The retired provider threads that stay loaded because terminals are running in them."""

    def __init__(self, link: CodexLink) -> None:
        self._link = link
        self._retained: dict[str, list[str]] = {}

    def retained(self, thread_id: str) -> list[str]:
        """Returns the retired provider threads of a thread that stay loaded for their terminals,
        oldest first.
        """
        return list(self._retained.get(thread_id, ()))

    def retain(self, thread_id: str, provider_id: str) -> None:
        """Keeps a retired provider thread loaded."""
        kept = self._retained.setdefault(thread_id, [])
        if provider_id not in kept:
            kept.append(provider_id)

    def release(self, thread_id: str, provider_id: str) -> bool:
        """Removes a provider thread from those kept loaded, and returns whether it was one."""
        kept = self._retained.get(thread_id, [])
        if provider_id in kept:
            kept.remove(provider_id)
            return True
        return False

    def forget_epoch(self) -> None:
        """Forgets all terminals, because Codex has ended."""
        self._retained.clear()

    async def running(self, provider_id: str) -> list[dict[str, Any]]:
        """Returns the terminals that are running in a provider thread; empty if this Codex has no
        terminals.
        """
        try:
            raw = await self._link.request(
                "thread/backgroundTerminals/list", {"threadId": provider_id}
            )
        except ProviderError:
            return []
        return list(msgspec.json.decode(raw).get("data") or ())

    async def sweep(self) -> list[str]:
        """Returns the retained provider threads whose terminals have all ended. They are no longer
        retained, and may be archived.
        """
        finished: list[str] = []
        if not any(self._retained.values()):
            return finished
        for kept in list(self._retained.values()):
            for provider_id in list(kept):
                if not await self.running(provider_id):
                    kept.remove(provider_id)
                    finished.append(provider_id)
        return finished
