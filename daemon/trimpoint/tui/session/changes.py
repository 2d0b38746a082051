"""Wakes the screen when the state has changed."""

import anyio


class Changes:
    """A signal that merges all changes until it is read."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def note(self) -> None:
        """Signals a change."""
        self._event.set()

    async def wait(self) -> None:
        """Waits for a change since the last call."""
        await self._event.wait()
        self._event = anyio.Event()
