"""Background terminals that outlive the provider thread they were started in
(docs/spec/sessions.md): a dev server survives `/clear`.

Archiving or unloading a Codex thread kills its running processes, so a retired provider thread with
terminals stays loaded.
"""

from typing import Any

import msgspec

from trimpoint.codex.appserver.peer import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink


class Terminals:
    """Keeps retired provider threads loaded, by stable thread, while terminals run in them."""

    def __init__(self, link: CodexLink) -> None:
        self._link = link
        self._retained: dict[str, list[str]] = {}

    def retained(self, thread_id: str) -> list[str]:
        """Retired provider threads of a thread that are kept for their terminals, oldest first."""
        return list(self._retained.get(thread_id, ()))

    def retain(self, thread_id: str, provider_id: str) -> None:
        """Keep a retired provider thread."""
        kept = self._retained.setdefault(thread_id, [])
        if provider_id not in kept:
            kept.append(provider_id)

    def release(self, thread_id: str, provider_id: str) -> bool:
        """Keep a provider thread no longer; whether it was kept."""
        kept = self._retained.get(thread_id, [])
        if provider_id in kept:
            kept.remove(provider_id)
            return True
        return False

    def forget_epoch(self) -> None:
        """Forgets all terminals, because the child has ended."""
        self._retained.clear()

    async def running(self, provider_id: str) -> list[dict[str, Any]]:
        """Returns the terminals that run in a provider thread; empty in a Codex that has none."""
        try:
            raw = await self._link.request(
                "thread/backgroundTerminals/list", {"threadId": provider_id}
            )
        except ProviderError:
            return []
        return list(msgspec.json.decode(raw).get("data") or ())

    async def sweep(self) -> list[str]:
        """Retained provider threads whose terminals have all ended; they are no longer retained and
        may be archived.
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
