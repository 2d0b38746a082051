"""Connects a command to the running daemon, starts one if none runs, and initializes a client."""

import argparse
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
from trimpoint_protocol.methods import USE_PROFILE, ProfileParams

from trimpoint import __version__, event_loop, first_frame
from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.refusals import held_elsewhere, refused
from trimpoint.cli.connection.settings import (
    CONFIG_INVALID,
    place_despite_mistakes,
    settings_of,
)
from trimpoint.cli.connection.sockets import absence, daemon_at
from trimpoint.cli.exits import NoDaemon, UsageError
from trimpoint.cli.terminal import print_plain_line, stderr_console
from trimpoint.versions import is_older

Command = Callable[[Client], Awaitable[int]]

_GREETING_DEADLINE_S = 15.0
_STARTING = "Starting the daemon …"


def with_daemon(
    arguments: argparse.Namespace,
    command: Command,
    *,
    starts: bool = True,
    says_version: bool = True,
    **capabilities: Any,
) -> int:
    """Runs `command` with an initialized client of the daemon and returns its exit code.

    :param starts: whether a daemon is started in the background if none runs.
    :param says_version: whether it is said if the daemon is an older one.
    :raises CliError: when no daemon can be reached, or it refused a request; the message is the
        daemon's.
    """
    return event_loop.run(_with_daemon, arguments, command, starts, says_version, capabilities)


async def _with_daemon(
    arguments: argparse.Namespace,
    command: Command,
    starts: bool,
    says_version: bool,
    capabilities: dict[str, Any],
) -> int:
    try:
        async with connect(await _place(arguments, starts)) as client:
            profile = profile_asked(arguments) if starts else None
            running = await _greet(client, capabilities, profile)
            if says_version and is_older_daemon(running):
                print_plain_line(
                    f"The daemon that runs is trimpoint {running}, this command is {__version__}. "
                    "To replace it as soon as no agent works: trimpoint daemon shutdown --when-idle"
                )
            try:
                return await command(client)
            except RemoteError as error:
                raise held_elsewhere(error, client.codex_home) or refused(error) from None
    except RemoteError as error:
        raise refused(error) from None
    except ConnectionLost:
        raise NoDaemon(
            "The daemon closed the connection.",
            "`trimpoint daemon logs` shows its log. The next command starts a new one.",
        ) from None


async def _greet(
    client: Client, capabilities: dict[str, Any], profile: ProfileParams | None
) -> str | None:
    """Initializes the client; returns the version of the daemon, if it was asked for a profile."""
    version = None
    with anyio.move_on_after(_GREETING_DEADLINE_S) as waiting:
        if profile is not None:
            chosen = await client.request(USE_PROFILE, **msgspec.to_builtins(profile))
            version = chosen.get("version")
        await client.initialize("trimpoint-cli", **capabilities)
    if waiting.cancelled_caught:
        raise NoDaemon(
            "Something accepts connections at the daemon's socket and has not answered for "
            f"{_GREETING_DEADLINE_S:.0f} s.",
            "If it is the daemon, it hangs: see `trimpoint daemon logs` and `trimpoint doctor`.",
        )
    return version


def is_older_daemon(running: str | None) -> bool:
    """Returns whether a daemon of this version is older than this program."""
    return running is not None and is_older(running, __version__)


def profile_asked(arguments: argparse.Namespace) -> ProfileParams:
    """Returns the Codex configuration that the command's flags and environment ask for."""
    from trimpoint.cli.connection.profile import profile_of

    return profile_of(arguments, os.environ)


async def _place(arguments: argparse.Namespace, starts: bool) -> Path:
    """Returns the socket of the daemon.

    :raises NoDaemon: when no daemon runs and `starts` is false.
    :raises CliError: when the socket cannot be used, or the daemon could not start.
    """
    try:
        settings = settings_of(arguments)
    except UsageError as error:
        if error.reason == CONFIG_INVALID and (socket := await _running(arguments)) is not None:
            said = f"{error.message} {error.hint}".strip()
            print_plain_line(f"{said} The running daemon has what was there when it started.")
            return socket
        raise
    if (socket := await daemon_at(settings)) is not None:
        return socket
    if not starts:
        raise await absence(settings)
    from trimpoint.cli.connection.background import launch_of, socket_of_daemon

    launch = launch_of(settings, arguments)
    first_frame.say(_STARTING)
    with stderr_console().status(f"[dim]{_STARTING}"):  # on a terminal only
        return await socket_of_daemon(launch)


async def _running(arguments: argparse.Namespace) -> Path | None:
    """Returns the socket of a running daemon although the configuration file has a mistake, or
    None.
    """
    return await daemon_at(place_despite_mistakes(arguments))
