"""`trimpoint app-server proxy`: bytes between stdin and stdout and a daemon's socket, whatever they
are.

Codex's desktop app runs it over SSH, and speaks WebSocket through it.
"""

import os
import socket
from pathlib import Path

import anyio
from trimpoint_protocol.locations import codex_home

from trimpoint.cli.connection.connect import answering, sockets_of
from trimpoint.cli.connection.relay import relay
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.exits import Exit, NoDaemon
from trimpoint.gateway.transport.listeners import take_stdio
from trimpoint.streams.ends import SocketEnd


def control_socket() -> Path:
    """Return where Codex's own clients look for an app-server that runs already."""
    return codex_home(os.environ) / "app-server-control" / "app-server-control.sock"


def run(settings: Settings, named: Path | None) -> int:
    """Relay until one side has ended.

    :raises NoDaemon: no daemon answers at the socket that is named, or else at Codex's control
        socket and at ours.
    """
    return anyio.run(
        _run, [named] if named is not None else [control_socket(), *sockets_of(settings)]
    )


async def _run(places: list[Path]) -> int:
    place = await answering(places)
    if place is None:
        shown = " or ".join(map(str, places))
        raise NoDaemon(
            f"No app-server answers at {shown}.",
            "Start one with `trimpoint serve`, or name it with --sock.",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        sock.connect(str(place))
        transport = take_stdio()
        try:
            await relay(transport, SocketEnd(sock), lambda: sock.shutdown(socket.SHUT_WR))
        finally:
            transport.close()
    return Exit.DONE
