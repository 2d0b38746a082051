"""`trimpoint app-server proxy`: relays bytes between stdin and stdout and a daemon's socket without
interpreting them.

Codex's desktop app runs it over SSH and speaks WebSocket through it.
"""

import os
import socket
from pathlib import Path

from trimpoint_protocol.locations import codex_home

from trimpoint import event_loop
from trimpoint.cli.connection.relay import relay
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.connection.sockets import answering, sockets_of
from trimpoint.cli.exits import Exit, NoDaemon
from trimpoint.streams.ends import SocketEnd
from trimpoint.transport.listeners import take_stdio


def control_socket() -> Path:
    """Returns the path where Codex's own clients look for a running app-server."""
    return codex_home(os.environ) / "app-server-control" / "app-server-control.sock"


def run(settings: Settings, named: Path | None) -> int:
    """Relays until one side closes its connection.

    :param named: the socket to use; None for Codex's control socket, or else the daemon's.
    :raises NoDaemon: when no daemon answers there.
    """
    return event_loop.run(
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
