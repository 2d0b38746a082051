"""Finds the socket where the daemon of a command listens."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import UNIXSocketStream

from trimpoint.cli.connection.client import Client, connect
from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.exits import CliError, NoDaemon, NoDaemonRuns
from trimpoint.system import SYSTEM
from trimpoint.system.port import CONNECT_AGAIN_S

_START_ONE = "Start one with `trimpoint serve`, or name its socket with --socket."


def sockets_of(settings: Settings) -> list[Path]:
    """Returns the sockets where the daemon may listen, the likeliest first: the named socket, or
    the published one and the default.
    """
    noted = read_published_socket(settings.state_dir)
    if noted is None or settings.socket_is_named or noted == settings.socket:
        return [settings.socket]
    return [noted, settings.socket]


async def daemon_at(settings: Settings) -> Path | None:
    """Returns the socket of the running daemon that `settings` mean, or None.

    If a state directory was named, a daemon at the default socket that uses another state directory
    does not count.

    :raises CliError: when a socket exists but cannot be connected to.
    """
    socket = await answering(sockets_of(settings))
    if socket is None or settings.socket_is_named or not settings.state_dir_is_named:
        return socket
    from trimpoint.cli.connection.which_daemon import keeps_state_in

    return None if await keeps_state_in(socket, settings.state_dir) is False else socket


async def absence(settings: Settings) -> NoDaemon:
    """Returns the error that says why `daemon_at` found none."""
    sockets = sockets_of(settings)
    socket = await answering(sockets)
    if socket is None:
        return _no_daemon(sockets)
    return NoDaemon(
        f"The daemon at {socket} keeps its state in another folder than {settings.state_dir}.",
        f"Start one with `trimpoint serve --state-dir {settings.state_dir}`.",
    )


@asynccontextmanager
async def open_first(sockets: list[Path]) -> AsyncGenerator[Client]:
    """Yields a client connected to the first of `sockets` that answers; it is not initialized yet.

    :raises NoDaemon: when none of them answers.
    :raises CliError: when a socket exists but cannot be connected to.
    """
    socket = await answering(sockets)
    if socket is None:
        raise _no_daemon(sockets)
    async with connect(socket) as client:
        yield client


def _no_daemon(sockets: list[Path]) -> NoDaemon:
    return NoDaemonRuns(f"No daemon answers at {' or '.join(map(str, sockets))}.", _START_ONE)


async def answering(sockets: list[Path]) -> Path | None:
    """Returns the first of `sockets` that accepts a connection, or None.

    :raises CliError: when a socket exists but cannot be connected to, for example for lack of
        permission.
    """
    for socket in sockets:
        try:
            async with await _connected(socket):
                return socket
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            continue
        except OSError as error:
            # An over-long path has no errno, only a text.
            raise CliError(
                f"{socket}: {error.strerror or error}.",
                "Give another --socket.",
                reason="socket_unusable",
            ) from None
    return None


async def _connected(socket: Path) -> UNIXSocketStream:
    for _ in range(SYSTEM.connect_attempts - 1):
        with suppress(ConnectionRefusedError):
            return await anyio.connect_unix(socket)
        await anyio.sleep(CONNECT_AGAIN_S)
    return await anyio.connect_unix(socket)
