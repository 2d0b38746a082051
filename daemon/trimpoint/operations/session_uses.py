"""Counts the requests that use a thread's session beside an operation, so that the session is not
replaced under one of them.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio


class SessionUses:
    """The uses of threads' sessions, by thread id."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._ended: dict[str, anyio.Event] = {}
        self._paused: set[str] = set()

    @contextmanager
    def using(self, thread_id: str) -> Generator[None]:
        """Counts a use of the thread's session until the block ends."""
        self._counts[thread_id] += 1
        try:
            yield
        finally:
            self._counts[thread_id] -= 1
            if not self._counts[thread_id]:
                del self._counts[thread_id]
                if (ended := self._ended.pop(thread_id, None)) is not None:
                    ended.set()

    def are_paused(self, thread_id: str) -> bool:
        """Returns whether no further use of the thread's session should begin."""
        return thread_id in self._paused

    async def ended(self, thread_id: str) -> None:
        """Waits until no use of the thread's session is under way. Each one ends with its requests
        to Codex, which have deadlines.
        """
        while self._counts[thread_id]:
            await self._ended.setdefault(thread_id, anyio.Event()).wait()

    @asynccontextmanager
    async def paused(self, thread_id: str) -> AsyncGenerator[None]:
        """Begins the block once no use of the thread's session is under way. Until it ends,
        `are_paused` is True.
        """
        self._paused.add(thread_id)
        try:
            await self.ended(thread_id)
            yield
        finally:
            self._paused.discard(thread_id)
