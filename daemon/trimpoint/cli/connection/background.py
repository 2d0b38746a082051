"""Finds the daemon of a state directory, or starts one in the background.

A background daemon runs in a session of its own: it outlives the client that started it and keeps
none of that client's terminal, file descriptors or working directory. When two are started at the
same moment, the lock of the state directory decides which one runs.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
import structlog

from trimpoint.cli.connection.settings import Settings, codex_binary
from trimpoint.cli.connection.sockets import answering, sockets_of
from trimpoint.cli.connection.which_daemon import keeps_state_in
from trimpoint.cli.exits import CliError, UsageError
from trimpoint.codex.appserver.launch import SERVICE_VARIABLES
from trimpoint.codex.appserver.orphans import CHILD_MARK
from trimpoint.journal.errors import JournalError
from trimpoint.journal.storage.directory import StateDirectory

log = structlog.get_logger()

# A daemon that is ending has up to 9 s for its Codex; one that starts may have to read many
# threads.
_DEADLINE_S = 60.0
_LOOK_AGAIN_S = 0.05
_BUSY = "state_directory_busy"
_REASONS_OF_USAGE = frozenset({"usage", "config_invalid"})
_MAX_LOG_BYTES = 8 * 1024 * 1024
# What a service manager gave to the process that needs a daemon, what marks a Codex and its
# children, and what is of one client alone.
_NOT_INHERITED = SERVICE_VARIABLES | {CHILD_MARK, "CODEX_HOME"}


class Launch(NamedTuple):
    """The command line and the environment for a daemon in the background."""

    settings: Settings
    options: list[str]
    """For `trimpoint serve`; every path is absolute."""


def launch_of(settings: Settings, arguments: argparse.Namespace) -> Launch:
    """Returns how to start the daemon that `arguments` and the environment name. The daemon serves
    all clients, so a Codex that only this client asks for is left out.

    :raises CliError: when there is no usable Codex, or the configuration cannot be read.
    """
    options = ["--state-dir", str(settings.state_dir)]
    options += ["--codex", os.path.abspath(_codex_for_all(arguments))]
    if settings.socket_is_named:
        options += ["--socket", str(settings.socket)]
    if arguments.config:
        options += ["--config", os.path.abspath(os.path.expanduser(arguments.config))]
    return Launch(settings, options)


def _codex_for_all(arguments: argparse.Namespace) -> Path:
    """Returns the Codex that is found without the client's `--codex` flag, or the one of the flag
    if there is no other.
    """
    try:
        return codex_binary(argparse.Namespace(config=arguments.config, codex=None))
    except CliError:
        return codex_binary(arguments)


async def socket_of_daemon(launch: Launch) -> Path:
    """Returns the socket of the daemon of the state directory, and starts the daemon if it is not
    running.

    :raises CliError: when it could not start, or when another process holds the state directory and
        does not answer.
    """
    settings, give_up_at = launch.settings, anyio.current_time() + _DEADLINE_S
    if (socket := await _own_daemon(settings)) is not None:
        return socket
    while True:
        try:
            return await _start(launch)
        except CliError as error:
            if error.reason != _BUSY:
                raise
            holder = error
        if (socket := await _daemon_of_holder(settings)) is not None:
            return socket
        if anyio.current_time() > give_up_at:
            places = " or ".join(map(str, sockets_of(settings)))
            raise CliError(
                f"{holder.message.rstrip('.')}, but no daemon answers at {places}.",
                "Name its socket with --socket.",
                reason=_BUSY,
            )
        await anyio.sleep(_LOOK_AGAIN_S)


async def _own_daemon(settings: Settings) -> Path | None:
    """Returns the socket of the running daemon of the state directory, or None. Connecting also
    starts a daemon that systemd activates by socket.
    """
    with suppress(CliError):  # a socket that cannot be used is reported where a daemon is started
        socket = await answering(sockets_of(settings))
        if socket is not None and await keeps_state_in(socket, settings.state_dir):
            return socket
    return None


async def _daemon_of_holder(settings: Settings) -> Path | None:
    """Returns the socket of the process that holds the lock of the state directory, or None while
    it does not answer.

    A daemon with another state directory is skipped, unless a person named this very socket; the
    caller then reports the difference.
    """
    socket = await answering(sockets_of(settings))
    if socket is None or settings.socket_is_named:
        return socket
    return None if await keeps_state_in(socket, settings.state_dir) is False else socket


async def _start(launch: Launch) -> Path:
    state_dir = launch.settings.state_dir
    process = _spawn(launch, _open_log(state_dir))
    assert process.stdout is not None
    with process.stdout:
        try:
            said = await _first_line(process.stdout.fileno())
        finally:
            # The daemon is a grandchild; the child between has ended, and so no zombie is left to
            # us.
            process.wait()
    return _socket_in(said, state_dir)


def _spawn(launch: Launch, log_fd: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "trimpoint",
        "serve",
        "--background",
        "--detached",
        "--json",
    ]
    try:
        return subprocess.Popen(
            [*command, *launch.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log_fd,
            env=_environment(os.environ),
            start_new_session=True,
        )
    finally:
        os.close(log_fd)


async def _first_line(fd: int) -> bytes:
    os.set_blocking(fd, False)
    said = b""
    with anyio.move_on_after(_DEADLINE_S):
        while b"\n" not in said:
            await anyio.wait_readable(fd)
            if not (data := os.read(fd, 65536)):
                break
            said += data
    return said


def _socket_in(said: bytes, state_dir: Path) -> Path:
    """Returns the socket in the first line that a started daemon prints.

    :raises CliError: when the daemon could not start; the error is the daemon's own.
    """
    try:
        answer: dict[str, Any] = orjson.loads(said)
    except orjson.JSONDecodeError:
        raise CliError(
            "A daemon was started in the background and ended before it was ready.",
            f"Its log says why: {log_path(state_dir)}",
            reason="daemon_not_started",
        ) from None
    if (error := answer.get("error")) is not None:
        kind = UsageError if error["reason"] in _REASONS_OF_USAGE else CliError
        raise kind(error["message"], error["hint"], reason=error["reason"])
    if structlog.is_configured():
        log.info(
            "daemon_started",
            pid=answer["pid"],
            socket=answer["listening"],
            log=str(log_path(state_dir)),
        )
    return Path(answer["listening"])


def log_path(state_dir: Path) -> Path:
    """Returns the path of a background daemon's log."""
    return state_dir / "daemon.log"


def _open_log(state_dir: Path) -> int:
    """Returns a file descriptor of the log, for appending. If the log cannot be opened, returns one
    of /dev/null: the daemon itself then reports what is wrong with its state directory.
    """
    with suppress(OSError, JournalError):
        StateDirectory(state_dir).prepare()
        path = log_path(state_dir)
        with suppress(FileNotFoundError):
            if path.stat().st_size > _MAX_LOG_BYTES:
                path.replace(path.with_name("daemon.log.1"))
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    return os.open(os.devnull, os.O_WRONLY)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for a daemon that serves all clients. `CODEX_HOME` is left out,
    because it belongs to a client, and the daemon must not depend on which client started it.
    """
    return {name: value for name, value in environ.items() if name not in _NOT_INHERITED}
