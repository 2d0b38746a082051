"""Connects a command to the running daemon: finds its socket and initializes a client."""

import argparse
import difflib
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
from trimpoint_protocol.methods import USE_PROFILE, ProfileParams

from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import (
    CONFIG_INVALID,
    Settings,
    place_despite_mistakes,
    settings_of,
)
from trimpoint.cli.exits import CliError, Exit, NoDaemon, UsageError
from trimpoint.cli.terminal import one_line, print_plain_line

T = TypeVar("T")
Command = Callable[[Client], Awaitable[int]]

_START_ONE = "Start one with `trimpoint serve`, or say where it listens with --socket."
# What Codex says when another process has the thread open (measured: 0.163).
_HELD = "already has an active writer"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GREETING_DEADLINE_S = 15.0
_REASONS_OF_USAGE = frozenset({"usage", "invalid_params"})


def sockets_of(settings: Settings) -> list[Path]:
    """Returns the sockets where the daemon may listen, the likeliest first: the named socket, or
    the published one and the default.
    """
    noted = read_published_socket(settings.state_dir)
    if noted is None or settings.socket_is_named or noted == settings.socket:
        return [settings.socket]
    return [noted, settings.socket]


def with_daemon(
    arguments: argparse.Namespace, command: Command, *, starts: bool = True, **capabilities: Any
) -> int:
    """Runs `command` with an initialized client of the daemon and returns its exit code.

    :param starts: whether a daemon is started in the background if none runs.
    :raises CliError: when no daemon can be reached, or it refused a request; the message is the
        daemon's.
    """
    return anyio.run(_with_daemon, arguments, command, starts, capabilities)


async def _with_daemon(
    arguments: argparse.Namespace, command: Command, starts: bool, capabilities: dict[str, Any]
) -> int:
    try:
        async with connect(await _place(arguments, starts)) as client:
            await _greet(client, capabilities, profile_asked(arguments) if starts else None)
            try:
                return await command(client)
            except RemoteError as error:
                raise held_elsewhere(error, client.codex_home) or refused(error) from None
    except RemoteError as error:
        raise refused(error) from None
    except ConnectionLost:
        raise NoDaemon(
            "The daemon closed the connection.",
            "`trimpoint logs` shows its log. The next command starts a new one if none runs.",
        ) from None


async def _greet(
    client: Client, capabilities: dict[str, Any], profile: ProfileParams | None
) -> None:
    with anyio.move_on_after(_GREETING_DEADLINE_S) as waiting:
        if profile is not None:
            await client.request(USE_PROFILE, **msgspec.to_builtins(profile))
        await client.initialize("trimpoint-cli", **capabilities)
    if waiting.cancelled_caught:
        raise NoDaemon(
            "Something accepts connections at the daemon's socket and has not answered for "
            f"{_GREETING_DEADLINE_S:.0f} s.",
            "If it is a daemon, it is stuck: see trimpoint doctor and its log.",
        )


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
        raise await _absence(settings)
    from trimpoint.cli.connection.background import launch_of, socket_of_daemon

    return await socket_of_daemon(launch_of(settings, arguments))


async def daemon_at(settings: Settings) -> Path | None:
    """Returns the socket of the running daemon that `settings` mean, or None.

    If a state directory was named, a daemon at the default socket that uses another state directory
    does not count.

    :raises CliError: when a socket exists but cannot be connected to.
    """
    socket = await answering(sockets_of(settings))
    if socket is None or settings.socket_is_named or not settings.state_dir_is_named:
        return socket
    from trimpoint.cli.connection.attach import keeps_state_in

    return None if await keeps_state_in(socket, settings.state_dir) is False else socket


async def _absence(settings: Settings) -> NoDaemon:
    sockets = sockets_of(settings)
    socket = await answering(sockets)
    if socket is None:
        return _no_daemon(sockets)
    return NoDaemon(
        f"The daemon at {socket} keeps its state in another folder than {settings.state_dir}.",
        f"Start one with `trimpoint serve --state-dir {settings.state_dir}`.",
    )


async def _running(arguments: argparse.Namespace) -> Path | None:
    """Returns the socket of a running daemon although the configuration file has a mistake, or
    None.
    """
    return await daemon_at(place_despite_mistakes(arguments))


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
    return NoDaemon(f"No daemon answers at {' or '.join(map(str, sockets))}.", _START_ONE)


async def answering(sockets: list[Path]) -> Path | None:
    """Returns the first of `sockets` that accepts a connection, or None.

    :raises CliError: when a socket exists but cannot be connected to, for example for lack of
        permission.
    """
    for socket in sockets:
        try:
            async with await anyio.connect_unix(socket):
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


def refused(error: RemoteError) -> CliError:
    """Returns the error with which a command exits when the daemon or Codex refused its request."""
    failure = CliError(
        _shortened(error.message),
        error.hint,
        reason=error.reason or "codex_refused",
    )
    if error.reason in _REASONS_OF_USAGE:
        failure.code = Exit.USAGE
    return failure


def held_elsewhere(error: RemoteError, codex_home: str) -> CliError | None:
    """Returns an error that names the process that has the thread open, if that is why Codex
    refused; None for any other refusal.
    """
    if _HELD not in error.message:
        return None
    from trimpoint.doctor.processes import WAY_OUT, named, thread_writers

    threads = set(_UUID.findall(error.message))
    holders = [pid for pid, held in thread_writers(Path(codex_home)).items() if threads & set(held)]
    who = f"another Codex ({named(holders[0])})" if holders else "another process"
    ids = ", ".join(sorted(threads)) or "The thread"
    return CliError(
        f"{ids} is open in {who}, and Codex lets only one process write to a thread.",
        f"End that conversation or program first. {WAY_OUT}",
        reason="thread_held",
    )


def _shortened(message: str) -> str:
    """Returns a refusal of Codex, shortened. Codex answers an unknown method with a list of all its
    methods (6 KB); only the three most similar names are kept.
    """
    head, expected, rest = message.partition(", expected one of ")
    if not expected:
        return one_line(message, 2000)
    wanted = head.rpartition("`")[0].rpartition("`")[2]
    near = difflib.get_close_matches(wanted, [name.strip("` ") for name in rest.split(",")], n=3)
    return one_line(f"{head}.{' Did you mean ' + ' or '.join(near) + '?' if near else ''}")


async def ask(client: Client, result: type[T], method: str, **params: Any) -> T:
    """Sends a request of trimpoint's own methods and returns its answer, decoded as `result`.

    :raises RemoteError: when the daemon refused the request.
    """
    return msgspec.convert(await client.request(method, **params), result)
