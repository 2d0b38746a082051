"""A window of tmux, into which a test types and whose screen it reads."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from tests.cli.stage import CliHarness
from tests.deadlines import STEP_S

_LOOK_AGAIN_S = 0.1


class Window:
    """A window of its own tmux server."""

    def __init__(self, stage: CliHarness) -> None:
        self._stage = stage
        self._server = ["tmux", "-S", str(stage.folder / "tmux"), "-f", "/dev/null"]

    async def run(self, *words: str) -> str:
        """Runs a command of tmux, and returns its output."""
        environment = self._stage.environment | {"TERM": "xterm-256color", "PS1": "$ "}
        done = await anyio.run_process(
            [*self._server, *words], env=environment, cwd=self._stage.worktree, check=False
        )
        return done.stdout.decode()

    async def shows(self, wanted: str | Callable[[str], bool]) -> None:
        """Waits until the screen shows `wanted`."""
        is_shown = wanted if callable(wanted) else lambda text: wanted in text
        text = ""
        with anyio.move_on_after(STEP_S):
            # tmux tells nobody that its screen has changed.
            while not is_shown(text := await self.run("capture-pane", "-p")):  # noqa: ASYNC110
                await anyio.sleep(_LOOK_AGAIN_S)
            return
        raise AssertionError(f"not shown: {wanted!r}\n{text}")

    async def types(self, text: str) -> None:
        """Types a line."""
        await self.run("send-keys", "-l", text)
        await self.run("send-keys", "Enter")

    async def presses(self, key: str) -> None:
        """Presses a key, by tmux's name for it."""
        await self.run("send-keys", key)

    async def resizes(self, columns: int, rows: int) -> None:
        """Changes the size of the window."""
        await self.run("resize-window", "-x", str(columns), "-y", str(rows))


@asynccontextmanager
async def tmux(stage: CliHarness) -> AsyncGenerator[Window]:
    """Yields a window with a shell that has job control."""
    window = Window(stage)
    await window.run("new-session", "-d", "-x", "100", "-y", "24", "bash --norc --noprofile -i")
    try:
        yield window
    finally:
        with anyio.CancelScope(shield=True):
            await window.run("kill-server")
