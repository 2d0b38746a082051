"""Types into a program in a pseudo-terminal, as a person would who waits until it rests."""

import anyio

from tests.tui.terminal import Terminal

UP, DOWN, ENTER, ESCAPE = b"\x1b[A", b"\x1b[B", b"\r", b"\x1b"
ERASE_LINE = b"\x15"
QUIET_S = 1.5
# What a program shows while it works.
BUSY = ("esc to interrupt", "esc to cancel")


class Screen:
    """Types into one program and waits until it rests."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    async def rests(self) -> str:
        """Returns the screen once nothing has been written to it for a while, and it says nothing
        of work.
        """
        quiet = False
        while not quiet:
            with anyio.move_on_after(QUIET_S) as waited:
                await self.terminal.reads()
            quiet = waited.cancelled_caught and not any(word in self.terminal.text for word in BUSY)
        return self.terminal.text

    async def say(self, text: str) -> str:
        """Types a prompt or a command."""
        await self.terminal.types(text)
        return await self.rests()

    async def press(self, *keys: bytes) -> str:
        """Presses keys, one after the other."""
        for key in keys:
            self.terminal.presses(key)
            await self.rests()
        return self.terminal.text

    async def choose(self, wanted: str) -> str:
        """Presses the number that stands before a choice."""
        line = next(one for one in self.terminal.text.splitlines() if wanted in one)
        return await self.press(line.partition(wanted)[0].strip(" ❯.").encode())
