"""Joins a client to a daemon that is already running: selects the client's Codex configuration,
then relays bytes in both directions.

Always true: a client that asked for a Codex of its own (overrides, binary or home) never silently
gets another one (docs/spec/sessions.md).
"""

import socket
from dataclasses import replace
from pathlib import Path

import anyio
import structlog
from trimpoint_protocol.methods import ProfileParams

from trimpoint.cli.connection.client import ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.profile import announce_profile, is_asked
from trimpoint.cli.connection.refusals import refused
from trimpoint.cli.connection.relay import EndClosed, read_some, relay
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.connection.which_daemon import identify
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.codex.appserver.launch_requests import is_same_path
from trimpoint.streams.ends import SocketEnd, is_always_readable
from trimpoint.transport.client_stream import Transport

log = structlog.get_logger()

_START_AGAIN = "Start this client again; a daemon is started if none runs."
_OWN_DAEMON = (
    "Name the same state directory, or start a separate daemon with another TRIMPOINT_SOCKET."
)


class DaemonLeft(NoDaemon):
    """Raised when the daemon ended before it received any bytes of the client. Another daemon may
    take its place, so the client can be attached again.
    """


async def attach(
    settings: Settings, profile: ProfileParams, place: Path, transport: Transport
) -> int:
    """Relays bytes between `transport` and the daemon that listens at `place`, until the client has
    received all its answers. Returns the exit code.

    :raises CliError: when that daemon has another state directory, or cannot give the client its
        Codex.
    :raises DaemonLeft: when it ended before it received anything from the client.
    :raises NoDaemon: when it ended before its client did.
    """
    pid = await _check(settings, profile, place)
    # A client may take longer to introduce itself than the daemon waits for one.
    if not is_always_readable(transport.source.fileno()):
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
    """Selects the client's profile at the daemon and returns the client's transport. Bytes that
    were read from the client on the way are put into its `received`.
    """
    first = transport.received or await read_some(transport.source)
    try:
        await announce_profile(daemon, profile, first)
    except RemoteError as error:
        raise refused(error) from None
    except (ConnectionLost, EndClosed):
        raise NoDaemon(f"The daemon at {place} closed the connection.", _START_AGAIN) from None
    return replace(transport, received=first)


async def _check(settings: Settings, profile: ProfileParams, place: Path) -> int:
    """Returns the pid of the daemon at `place`.

    :raises CliError: when it uses another state directory than `settings` name.
    :raises DaemonLeft: when it closed the connection.
    """
    try:
        async with connect(place) as client:
            daemon = await identify(client, profile)
    except RemoteError as error:
        raise refused(error) from None
    except (OSError, ConnectionLost):
        raise DaemonLeft(f"The daemon at {place} closed the connection.", _START_AGAIN) from None
    if not is_same_path(daemon.state_dir, settings.state_dir):
        raise CliError(
            f"The daemon at {place} (pid {daemon.pid}) keeps its state in {daemon.state_dir}, not "
            f"in {settings.state_dir}.",
            _OWN_DAEMON,
            reason="other_state_directory",
        )
    return daemon.pid
