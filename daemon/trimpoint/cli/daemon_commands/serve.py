"""`trimpoint serve`: the daemon in the foreground, for any number of clients at its socket."""

import argparse
import os
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import structlog

from trimpoint import __version__
from trimpoint.cli.connection.foreground import StopSignals, daemon_on_socket, run_daemon, stop_asked
from trimpoint.cli.connection.settings import Settings, codex_binary, settings_of
from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import print_json
from trimpoint.codex.appserver.process import LaunchProfile
from trimpoint.service.activation import handed_over
from trimpoint.service.notify import own_notifier
from trimpoint.service.reporting import reported

log = structlog.get_logger()


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal or `trimpoint shutdown` ends it; exit code 0 then.

    :raises CliError: it could not start.
    """
    settings = settings_of(arguments)
    profile = LaunchProfile(codex_binary(arguments), settings.config.codex.overrides)
    return run_daemon(settings, partial(_serve, settings, profile, arguments.json))


async def _serve(settings: Settings, profile: LaunchProfile, as_json: bool, stop: StopSignals) -> int:
    with closing(own_notifier()) as notifier:
        handed = handed_over(os.environ, os.getpid())
        if handed is not None:
            settings = _at(settings, handed.path)
        listener = handed.listener if handed is not None else None
        async with daemon_on_socket(settings, profile, listener=listener) as daemon:
            _announce(settings, as_json)
            async with reported(notifier, daemon.describe):
                log.info("stopping", asked_by=await stop_asked(daemon, stop))
    log.info("stopped")
    return Exit.DONE


def _at(settings: Settings, path: Path) -> Settings:
    """The settings with the socket that was handed over: clients are waiting there already, wherever else we were told to listen."""
    if settings.socket_is_named and settings.socket != path:
        log.warning("socket_not_used", named=str(settings.socket), handed_over=str(path))
    return settings._replace(socket=path)


def _announce(settings: Settings, as_json: bool) -> None:
    """On stdout, once clients can connect; whoever started us may wait for this line."""
    with suppress(OSError):
        if as_json:
            print_json({"listening": str(settings.socket), "pid": os.getpid(), "stateDir": str(settings.state_dir)})
        else:
            print(f"trimpoint {__version__} listens on {settings.socket} (pid {os.getpid()})", flush=True)
