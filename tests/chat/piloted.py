"""The chat in the test's own process, on a real daemon and the real Codex."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from textual import events
from textual.pilot import Pilot
from trimpoint.tui.model.state import ChatState, LinkState
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.link import Link
from trimpoint.tui.widgets.app import ChatApp
from trimpoint.tui.widgets.composer import Composer

from tests.deadlines import STEP_S


class Piloted:
    """A chat to type into and to look at."""

    def __init__(self, chat: Chat, app: ChatApp, pilot: Pilot[None]) -> None:
        self.chat, self.app, self.pilot, self.state = chat, app, pilot, app.state

    @property
    def composer(self) -> Composer:
        """Returns the editor of the prompt."""
        return self.app.query_one("#composer", Composer)

    @property
    def screen(self) -> str:
        """Returns what is on the screen."""
        strips = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def types(self, text: str, *keys: str) -> None:
        """Types a text, and presses keys after it."""
        self.composer.insert(text)
        await self.pilot.press(*keys or ("enter",))

    async def presses(self, *keys: str) -> None:
        """Presses keys."""
        await self.pilot.press(*keys)

    async def clicks(self, words: str, *, button: int = 1) -> None:
        """Clicks the first place where these words are on the screen."""
        await self.shows(words)
        row, line = next(one for one in enumerate(self.screen.splitlines()) if words in one[1])
        await self.pilot.click(offset=(line.index(words), row), button=button)

    async def pastes(self, text: str) -> None:
        """Pastes a text into the composer."""
        self.composer.post_message(events.Paste(text))
        await self.pilot.pause()

    async def shows(self, wanted: str | Callable[[str], bool]) -> None:
        """Waits until the screen shows `wanted`."""
        is_shown = wanted if callable(wanted) else lambda text: wanted in text
        with anyio.move_on_after(STEP_S):
            while not is_shown(self.screen):
                await self.pilot.pause(0.02)
            return
        raise AssertionError(f"not shown: {wanted!r}\n{self.screen}")


@asynccontextmanager
async def piloted(
    socket: Path, folder: Path, thread_id: str | None = None
) -> AsyncIterator[Piloted]:
    """Runs a chat over a daemon's socket, and yields it once it is connected."""

    async def find() -> Path | None:
        return socket if socket.exists() else None  # noqa: ASYNC240  it is on this machine

    async def start() -> Path:
        raise FileNotFoundError("the test starts its daemons itself")

    chat = Chat(Link(find, start, None), ChatState(str(folder), thread_id), Changes())
    app = ChatApp(chat, is_loud=False)
    async with app.run_test(size=(100, 40)) as pilot:
        shown = Piloted(chat, app, pilot)
        with anyio.fail_after(STEP_S):
            while app.state.link is not LinkState.CONNECTED:
                await pilot.pause(0.02)
        yield shown
