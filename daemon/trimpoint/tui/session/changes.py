"""Tells the screen that the state has changed."""

import anyio


class Changes:
    """Merges any number of changes into one until they are read."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def note(self) -> None:
        """Says that something has changed."""
        self._event.set()

    async def wait(self) -> None:
        """Returns once something has changed since the last time."""
        await self._event.wait()
        self._event = anyio.Event()
