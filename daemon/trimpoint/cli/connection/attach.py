"""Joining a daemon that runs already: it must be the one that was asked for, then bytes are relayed
both ways.

The law: a client that asked for a Codex of its own kind (overrides, binary, home) never silently
gets another's (docs/spec/sessions.md).
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog
from trimpoint_protocol.methods import SidecarStatus

from trimpoint.cli.connection.client import ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.connect import ask, refused
from trimpoint.cli.connection.relay import relay
from trimpoint.cli.connection.settings import Settings
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.gateway.transport.streams import SocketEnd, Transport

log = structlog.get_logger()

_START_AGAIN = "Start this client again; a daemon is started if none runs."
_OWN_DAEMON = (
    "Ask for the same, or have a daemon of your own: another TRIMPOINT_STATE_DIR and "
    "TRIMPOINT_SOCKET."
)


class Wanted(NamedTuple):
    """The settings that the client asked for; None where it takes the defaults."""

    overrides: list[str] | None
    codex: Path | None


class DaemonLeft(NoDaemon):
    """The daemon ended before anything of the client had reached it; another may take its place."""


async def attach(settings: Settings, wanted: Wanted, place: Path, transport: Transport) -> int:
    """Relays between `transport` and the daemon at `place` until the client has had all its
    answers.

    :raises CliError: that daemon runs another Codex than was asked for.
    :raises DaemonLeft: it ended before the client had said anything.
    :raises NoDaemon: it ended before its client did.
    """
    pid = await _check(settings, wanted, place)
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
        if not await relay(transport, SocketEnd(sock), lambda: sock.shutdown(socket.SHUT_WR)):
            raise NoDaemon("The daemon that this client was attached to has ended.", _START_AGAIN)
    return Exit.DONE


async def keeps_state_in(place: Path, state_dir: Path) -> bool | None:
    """Returns whether the daemon at `place` is that of `state_dir`; None if none answers there, or
    it does not tell.
    """
    try:
        async with connect(place) as client:
            await client.initialize("trimpoint-stdio")
            return _same((await ask(client, SidecarStatus, "sidecar/status")).state_dir, state_dir)
    except (OSError, RemoteError, ConnectionLost):
        return None


async def _check(settings: Settings, wanted: Wanted, place: Path) -> int:
    """The pid of the daemon, which is the one that was asked for."""
    try:
        async with connect(place) as client:
            codex_home = str((await client.initialize("trimpoint-stdio")).get("codexHome") or "")
            status = await ask(client, SidecarStatus, "sidecar/status")
    except RemoteError as error:
        raise refused(error) from None
    except (OSError, ConnectionLost):
        raise DaemonLeft(f"The daemon at {place} closed the connection.", _START_AGAIN) from None
    for difference in _differences(settings, wanted, status, codex_home):
        raise CliError(
            f"The daemon at {place} (pid {status.pid}) {difference}.",
            _OWN_DAEMON,
            reason="other_launch_profile",
        )
    return status.pid


def _differences(
    settings: Settings, wanted: Wanted, status: SidecarStatus, codex_home: str
) -> list[str]:
    found: list[str] = []
    if not _same(status.state_dir, settings.state_dir):
        found.append(f"keeps its state in {status.state_dir}, not in {settings.state_dir}")
    if wanted.overrides is not None and wanted.overrides != status.codex.overrides:
        found.append(
            "runs Codex with other overrides: "
            f"{_difference(wanted.overrides, status.codex.overrides)}"
        )
    if wanted.codex is not None and not _same(status.codex.path, wanted.codex):
        found.append(f"runs the Codex {status.codex.path}, and {wanted.codex} was asked for")
    home = os.environ.get("CODEX_HOME")
    if home and codex_home and not _same(codex_home, home):
        found.append(f"runs Codex with CODEX_HOME={codex_home}, and {home} was asked for")
    return found


def _same(one: str | Path, other: str | Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _difference(wanted: list[str], running: list[str]) -> str:
    missing = [f"without -c {override}" for override in wanted if override not in running]
    besides = [f"with -c {override}" for override in running if override not in wanted]
    return ", ".join([*missing, *besides]) or "the same ones, in another order"
