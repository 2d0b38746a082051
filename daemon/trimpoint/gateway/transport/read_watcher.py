"""Says when a descriptor can be read."""

import asyncio
from collections.abc import Callable


class ReadWatcher:
    """Calls back, once a turn of the loop, while a descriptor can be read."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, fd: int, on_readable: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._on_readable = on_readable
        self._is_on = False
        self._next_turn: asyncio.Handle | None = None

    def resume(self) -> None:
        if self._is_on:
            return
        self._is_on = True
        try:
            self._loop.add_reader(self._fd, self._on_readable)
        except PermissionError:
            # epoll takes no regular files and no /dev/null: those can always be read.
            self._next_turn = self._loop.call_soon(self._turn)

    def pause(self) -> None:
        if not self._is_on:
            return
        self._is_on = False
        if self._next_turn is None:
            self._loop.remove_reader(self._fd)
        else:
            self._next_turn.cancel()

    def _turn(self) -> None:
        self._next_turn = self._loop.call_soon(self._turn)
        self._on_readable()
