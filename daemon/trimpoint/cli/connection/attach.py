"""Joining a daemon that runs already: it takes on the client's Codex configuration, then bytes are
relayed both ways.

Always true: a client that asked for a Codex of its own kind (overrides, binary, home) never
silently gets another's (docs/spec/sessions.md).
"""

import os
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import structlog
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import ProfileChosen, ProfileParams, SidecarStatus

from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.connect import ask, refused
from trimpoint.cli.connection.profile import announce_profile, is_asked, use_profile
from trimpoint.cli.connection.relay import EndClosed, read_some, relay
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.streams.ends import SocketEnd

log = structlog.get_logger()

_START_AGAIN = "Start this client again; a daemon is started if none runs."
_OWN_DAEMON = "Name the same folder, or have a daemon of your own with another TRIMPOINT_SOCKET."


class DaemonLeft(NoDaemon):
    """The daemon ended before anything of the client had reached it; another may take its place."""


async def attach(
    settings: Settings, profile: ProfileParams, place: Path, transport: Transport
) -> int:
    """Relays between `transport` and the daemon at `place` until the client has had all its
    answers.

    :raises CliError: that daemon keeps another state, or cannot give the client its Codex.
    :raises DaemonLeft: it ended before the client had said anything.
    :raises NoDaemon: it ended before its client did.
    """
    pid = await _check(settings, profile, place)
    # A client may take longer to introduce itself than the daemon waits for one.
    with suppress(PermissionError):  # a file is always ready, and epoll takes none
        await anyio.wait_readable(transport.source.fileno())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(str(place))
        except OSError as error:
            raise DaemonLeft(f"{place}: {error.strerror}.", _START_AGAIN) from None
        log.info("attached", socket=str(place), daemon_pid=pid, peer=transport.peer)
        end = SocketEnd(sock)
        if is_asked(profile):
            transport = await _announced(transport, end, profile, place)
        if not await relay(transport, end, lambda: sock.shutdown(socket.SHUT_WR)):
            raise NoDaemon("The daemon that this client was attached to has ended.", _START_AGAIN)
    return Exit.DONE


async def _announced(
    transport: Transport, daemon: SocketEnd, profile: ProfileParams, place: Path
) -> Transport:
    """Returns the client's end, once the daemon knows its profile; what the client said meanwhile
    is in `received`.
    """
    first = transport.received or await read_some(transport.source)
    try:
        await announce_profile(daemon, profile, first)
    except RemoteError as error:
        raise refused(error) from None
    except (ConnectionLost, EndClosed):
        raise NoDaemon(f"The daemon at {place} closed the connection.", _START_AGAIN) from None
    return replace(transport, received=first)


async def keeps_state_in(place: Path, state_dir: Path) -> bool | None:
    """Returns whether the daemon at `place` is that of `state_dir`; None if none answers there, or
    it does not tell.
    """
    try:
        async with connect(place) as client:
            return _same((await _who(client, ProfileParams())).state_dir, state_dir)
    except (OSError, RemoteError, ConnectionLost):
        return None


async def _check(settings: Settings, profile: ProfileParams, place: Path) -> int:
    """Returns the pid of the daemon, which is the one that was asked for."""
    try:
        async with connect(place) as client:
            daemon = await _who(client, profile)
    except RemoteError as error:
        raise refused(error) from None
    except (OSError, ConnectionLost):
        raise DaemonLeft(f"The daemon at {place} closed the connection.", _START_AGAIN) from None
    if not _same(daemon.state_dir, settings.state_dir):
        raise CliError(
            f"The daemon at {place} (pid {daemon.pid}) keeps its state in {daemon.state_dir}, not "
            f"in {settings.state_dir}.",
            _OWN_DAEMON,
            reason="other_state_directory",
        )
    return daemon.pid


async def _who(client: Client, profile: ProfileParams) -> ProfileChosen:
    """Returns which daemon it is, after it has accepted the profile.

    :raises RemoteError: it refused.
    """
    try:
        return await use_profile(client, profile)
    except RemoteError as error:
        if error.reason != Reason.NOT_INITIALIZED:
            raise
    # It is of an earlier version, and has one Codex for all.
    if is_asked(profile):
        raise CliError(
            "The daemon that runs is of an earlier version and has one Codex for all clients.",
            "Let it end and start this client again: trimpoint shutdown.",
            reason="daemon_too_old",
        )
    await client.initialize("trimpoint-stdio")
    status = await ask(client, SidecarStatus, "sidecar/status")
    return ProfileChosen(profile="", pid=status.pid, state_dir=status.state_dir)


def _same(one: str | Path, other: str | Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
