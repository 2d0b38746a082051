"""Archives provider threads that serve their thread no longer.

Archiving moves the file. Codex's own terminal UI looks for it where it was when the UI opened the
thread, and takes a thread without one for one that is not saved (measured: 0.163, 0.171). So while
such a client has the thread open, a superseded provider thread stays as it is; it is hidden.
"""

from collections.abc import Callable

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.model.state import ThreadState


class Archiving:
    """`reads_file(thread_id)` says whether a client that looks for the thread's file has it open.
    All requests raise `ProviderFailure` when Codex gives no result.
    """

    def __init__(self, link: CodexLink, reads_file: Callable[[str], bool]) -> None:
        self._link = link
        self._reads_file = reads_file
        self._held: dict[str, set[str]] = {}
        self._complete: set[str] = set()

    def holds(self, thread_id: str, provider_id: str | None) -> bool:
        """Returns whether a superseded provider thread must not be archived yet; then `due` returns
        it later.
        """
        if provider_id is None or not self._reads_file(thread_id):
            return False
        self._held.setdefault(thread_id, set()).add(provider_id)
        return True

    def due(self) -> list[str]:
        """Returns the provider threads that may be archived by now, until they are."""
        free = [one for thread_id, one in self._held.items() if not self._reads_file(thread_id)]
        return [provider_id for held in free for provider_id in held]

    def forget_epoch(self) -> None:
        """Has what `archive_left` does done again: what Codex was asked may not have been done."""
        self._complete.clear()

    async def archive(self, provider_id: str) -> None:
        """Archives a provider thread, or unsubscribes from it if Codex refuses: that is so for a
        thread without a turn, which has no rollout and is not listed (measured).
        """
        try:
            await self._link.request("thread/archive", {"threadId": provider_id})
        except ProviderError:
            await self._link.request("thread/unsubscribe", {"threadId": provider_id})
        for held in self._held.values():
            held.discard(provider_id)

    async def archive_left(self, state: ThreadState, count: int) -> None:
        """Archives, once in the life of a Codex, those provider threads of the first `count`
        generations that were left when a daemon or Codex ended: the newest first, up to one that
        Codex has archived.
        """
        if state.id in self._complete:
            return
        for generation in reversed(state.generations[:count]):
            try:
                about = {"threadId": generation.provider_thread_id}
                if generation.provider_thread_id is not None:
                    await self._link.request("thread/archive", about)
            except ProviderError:
                if generation.turn_count:  # one without a turn has no rollout, so it says nothing
                    break
        self._complete.add(state.id)
