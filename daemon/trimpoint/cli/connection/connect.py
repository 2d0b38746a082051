"""From a command to the running daemon: find its socket, shake hands, choose a thread."""

import argparse
import difflib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
from rich.text import Text
from trimpoint_protocol.methods import SnapshotResult, ThreadOverview

from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError, connect
from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import Settings, settings_of
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.cli.terminal import one_line, print_line

T = TypeVar("T")
Command = Callable[[Client], Awaitable[int]]

_START_ONE = "Start one with `trimpoint serve`, or say where it listens with --socket."
_REASONS_OF_USAGE = frozenset({"usage", "invalid_params"})


def sockets_of(settings: Settings) -> list[Path]:
    """Where the daemon may listen, likeliest first: what was named, what it noted itself, the default place."""
    noted = read_published_socket(settings.state_dir)
    if noted is None or settings.socket_is_named or noted == settings.socket:
        return [settings.socket]
    return [noted, settings.socket]


def with_daemon(arguments: argparse.Namespace, command: Command, **capabilities: Any) -> int:
    """Run `command` with an initialized client of the running daemon; its exit code.

    :raises CliError: the daemon is not there, or refused; its message is the daemon's.
    """
    return anyio.run(_with_daemon, arguments, command, capabilities)


async def _with_daemon(arguments: argparse.Namespace, command: Command, capabilities: dict[str, Any]) -> int:
    try:
        async with open_first(sockets_of(settings_of(arguments))) as client:
            await client.initialize("trimpoint-cli", **capabilities)
            return await command(client)
    except RemoteError as error:
        raise refused(error) from None
    except ConnectionLost:
        raise NoDaemon(
            "The daemon closed the connection.", "Is it still running? See its log; under systemd: `trimpoint service logs`."
        ) from None


@asynccontextmanager
async def open_first(sockets: list[Path]) -> AsyncGenerator[Client]:
    """A connection to the first of `sockets` that answers, not initialized yet.

    :raises NoDaemon: none does.
    :raises CliError: one is there but closed to us.
    """
    socket = await answering(sockets)
    if socket is None:
        raise NoDaemon(f"No daemon answers at {' or '.join(map(str, sockets))}.", _START_ONE)
    async with connect(socket) as client:
        yield client


async def answering(sockets: list[Path]) -> Path | None:
    """The first socket that somebody serves.

    :raises CliError: one is there but closed to us, or can be nobody's.
    """
    for socket in sockets:
        try:
            async with await anyio.connect_unix(socket):
                return socket
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            continue
        except OSError as error:
            # An over-long path has no errno, only a text.
            raise CliError(f"{socket}: {error.strerror or error}.", "Give another --socket.", reason="socket_unusable") from None
    return None


def refused(error: RemoteError) -> CliError:
    """What the daemon, or Codex behind it, refused, as the end of a command."""
    failure = CliError(_shortened(error.message), str(error.data.get("hint", "")), reason=error.reason or "codex_refused")
    if error.reason in _REASONS_OF_USAGE:
        failure.code = Exit.USAGE
    return failure


def _shortened(message: str) -> str:
    """Codex answers an unknown method with a list of all that it has (6 KB): only the nearest ones help."""
    head, expected, rest = message.partition(", expected one of ")
    if not expected:
        return one_line(message, 2000)
    wanted = head.rpartition("`")[0].rpartition("`")[2]
    near = difflib.get_close_matches(wanted, [name.strip("` ") for name in rest.split(",")], n=3)
    return one_line(f"{head}.{' Did you mean ' + ' or '.join(near) + '?' if near else ''}")


async def ask(client: Client, result: type[T], method: str, **params: Any) -> T:
    """Ask for one of our own methods and read the answer as its declared result.

    :raises RemoteError: it was refused.
    """
    return msgspec.convert(await client.request(method, **params), result)


async def chosen_thread(client: Client, wanted: str | None) -> ThreadOverview:
    """The thread a person means: by id, the beginning or end of it, or name; else the last used one that is not archived.

    :raises CliError: there is none, or several could be meant.
    """
    threads = (await ask(client, SnapshotResult, "orchestration/snapshot")).threads
    if wanted is not None:
        return _named(threads, wanted)
    active = [thread for thread in threads if not thread.archived]
    if not active:
        hint = "Start one with `trimpoint probe --prompt TEXT`, or from any client."
        raise CliError("There is no thread yet that is not archived.", hint, reason="thread_not_found")
    return active[0]


def _named(threads: list[ThreadOverview], wanted: str) -> ThreadOverview:
    exact = [thread for thread in threads if wanted == thread.id]
    matching = exact or [t for t in threads if wanted == t.name or t.id.startswith(wanted) or t.id.endswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        choices = ", ".join(_label(thread) for thread in matching[:5])
        raise CliError(f"{wanted!r} could be {len(matching)} threads.", f"Give more of the id: {choices}.", reason="ambiguous")
    known = ", ".join(_label(thread) for thread in threads[:5])
    hint = f"There are: {known}." if known else "There are no threads yet."
    raise CliError(f"There is no thread {wanted!r}.", hint, reason="thread_not_found")


def _label(thread: ThreadOverview) -> str:
    return f"{thread.id} ({thread.name})" if thread.name else thread.id


def print_thread(thread: ThreadOverview, wanted: str | None) -> None:
    """Name the thread that was chosen for the person."""
    if wanted is None:
        name = f" “{one_line(thread.name, 60)}”" if thread.name else ""
        print_line(Text(f"thread {thread.id}{name} in {thread.cwd}", "dim"))
