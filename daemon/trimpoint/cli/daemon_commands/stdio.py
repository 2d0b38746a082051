"""`trimpoint stdio`: a client talks to the daemon over the stdin and stdout of this process.

If a daemon runs already, this process only relays to it. If none does, it becomes the daemon, for its own client and, at the
socket, for others who come later; it ends when its own client does.
"""

import argparse
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import anyio
import structlog

from trimpoint.app import Daemon
from trimpoint.cli.connection.attach import Wanted, attach, keeps_state_in
from trimpoint.cli.connection.connect import answering, sockets_of
from trimpoint.cli.connection.foreground import StopSignals, daemon_on_socket, run_daemon, stop_asked
from trimpoint.cli.connection.refusal import refuse_client
from trimpoint.cli.connection.settings import Settings, codex_binary, settings_of
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.codex.appserver.process import LaunchProfile
from trimpoint.gateway.transport.listeners import ListenError, take_stdio
from trimpoint.gateway.transport.streams import Transport
from trimpoint.journal.errors import StateDirectoryBusy

log = structlog.get_logger()

# Two that start at the same moment: the second waits for the first to listen.
_ATTACH_DEADLINE_S = 10.0
_LOOK_AGAIN_S = 0.05


def run(arguments: argparse.Namespace) -> int:
    """Serve the one client until its end of input.

    :raises CliError: neither could a daemon start nor the running one be used; the client has been told.
    """
    try:
        return _run(arguments)
    except NoDaemon:
        raise
    except CliError as error:
        with suppress(ListenError):
            anyio.run(refuse_client, _stdio(), error)
        raise


@cache
def _stdio() -> Transport:
    """The client's end; moving it aside is done once."""
    return take_stdio()


def _run(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    codex = codex_binary(arguments)
    profile = LaunchProfile(codex, settings.config.codex.overrides)
    wanted = Wanted(
        overrides=list(profile.overrides) if arguments.overrides else None,
        codex=codex if arguments.codex else None,
    )
    return run_daemon(settings, partial(_serve_or_attach, settings, profile, wanted))


async def _serve_or_attach(settings: Settings, profile: LaunchProfile, wanted: Wanted, stop: StopSignals) -> int:
    # Not closed here: should it come to nothing, the client is still to be told.
    transport = _stdio()
    give_up_at = anyio.current_time() + _ATTACH_DEADLINE_S
    # Before a daemon of our own: systemd may hold the socket, and starts the daemon that is to be everyone's.
    if (socket := await _own_daemon(settings)) is not None:
        return await attach(settings, wanted, socket, transport, stop)
    while True:
        try:
            async with daemon_on_socket(settings, profile, may_lack_socket=not settings.socket_is_named) as daemon:
                return await _serve(daemon, transport, stop)
        except StateDirectoryBusy as busy:
            holder = busy
        if (socket := await answering(sockets_of(settings))) is not None:
            return await attach(settings, wanted, socket, transport, stop)
        _check_time(settings, holder, give_up_at, stop)
        await anyio.sleep(_LOOK_AGAIN_S)


async def _own_daemon(settings: Settings) -> Path | None:
    """Where the daemon of our state directory answers, if one does, or is started by being asked."""
    with suppress(CliError):  # a socket that cannot be used is said, or done without, where a daemon is started
        socket = await answering(sockets_of(settings))
        if socket is not None and await keeps_state_in(socket, settings.state_dir):
            return socket
    return None


def _check_time(settings: Settings, holder: StateDirectoryBusy, give_up_at: float, stop: StopSignals) -> None:
    if anyio.current_time() > give_up_at or stop.received is not None:
        places = " or ".join(map(str, sockets_of(settings)))
        raise CliError(
            f"{holder}, but nobody answers at {places}.", "Say with --socket where it listens.", reason="state_directory_busy"
        )


async def _serve(daemon: Daemon, transport: Transport, stop: StopSignals) -> int:
    log.info("serving_stdio", peer=transport.peer)
    async with anyio.create_task_group() as tasks:

        async def until_asked() -> None:
            log.info("stopping", asked_by=await stop_asked(daemon, stop))
            tasks.cancel_scope.cancel()

        tasks.start_soon(until_asked)
        await daemon.serve_owner(transport)
        tasks.cancel_scope.cancel()
    return Exit.DONE
