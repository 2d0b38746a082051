"""Connects to the daemon, and waits until one runs."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from trimpoint_protocol.client import Client, ClientInfo, initialize, open_connection
from trimpoint_protocol.client.unix import connect_unix
from trimpoint_protocol.methods import USE_PROFILE, ProfileChosen, ProfileParams

from trimpoint import __version__

LOOK_AGAIN_S = 0.25
# A network that is gone, or a daemon that is stopped, says nothing: as in the page and in Neovim.
SILENCE_S, PATIENCE_S = 10.0, 8.0
# They come often and show nothing here.
_UNWANTED = (
    "rawResponseItem/completed", "account/rateLimits/updated", "thread/tokenUsage/updated",
    "turn/diff/updated",
)  # fmt: skip
_INFO = ClientInfo("trimpoint-chat", __version__, opt_out=_UNWANTED)


class Link:
    """Connects to the daemon.

    :param find: returns the socket of a running daemon, None if there is none.
    :param start: returns the socket of a running daemon, and starts one if there is none.
    :param profile: the Codex configuration that this client asks for, None for the daemon's own.
    """

    def __init__(
        self,
        find: Callable[[], Awaitable[Path | None]],
        start: Callable[[], Awaitable[Path]],
        profile: ProfileParams | None,
    ) -> None:
        self._find = find
        self._start = start
        self._profile = profile
        self._is_start_wanted = False
        self.version: str | None = None
        """The version of the daemon, if it said so."""

    def start_one(self) -> None:
        """Requests that a daemon is started when the next connection needs one."""
        self._is_start_wanted = True

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Client]:
        """Waits for a daemon and yields an initialized client.

        :raises CliError: when a daemon could not be started, or its socket cannot be connected to.
        :raises ClientError: when the daemon refused.
        :raises OSError: when the daemon ended meanwhile.
        """
        socket = await self._socket()
        async with (
            await connect_unix(socket) as stream,
            open_connection(stream) as connection,
        ):
            if self._profile is not None:
                chosen = await connection.request(USE_PROFILE, self._profile, result=ProfileChosen)
                self.version = chosen.version
            yield await initialize(connection, _INFO)

    async def _socket(self) -> Path:
        # There is no event for a socket that does not exist yet.
        while (socket := await self._find()) is None:
            if self._is_start_wanted:
                self._is_start_wanted = False
                return await self._start()
            await anyio.sleep(LOOK_AGAIN_S)
        return socket
