"""`trimpoint daemon shutdown`: ends the daemon and waits until its process is gone."""

import argparse
import os
from contextlib import suppress
from functools import partial

import anyio
from rich.text import Text
from trimpoint_protocol.methods import ShutdownResult

from trimpoint.cli.connection.client import Client, ConnectionLost, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import KnownThread, own_threads
from trimpoint.cli.exits import CliError, Exit, NoDaemonRuns
from trimpoint.cli.terminal import one_line, print_json, print_plain_line, stdout_console
from trimpoint.processes import pidfd_of

# The child gets up to 9 s to end; see `trimpoint.codex.appserver.process.StopGrace`.
_DEADLINE_S = 20.0
_LOOK_AGAIN_S = 1.0


def run(arguments: argparse.Namespace) -> int:
    """Requests the end of the daemon and returns when its process has ended."""
    try:
        return with_daemon(arguments, partial(_shut_down, arguments), starts=False)
    except NoDaemonRuns:
        return _not_running(arguments)


def _not_running(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json({"pid": None, "stopped": False, "interruptedThreads": []})
    else:
        stdout_console().print("No daemon runs.")
    return Exit.DONE


async def _shut_down(arguments: argparse.Namespace, client: Client) -> int:
    pid = int((await client.request("sidecar/status"))["pid"])
    when_idle = bool(arguments.when_idle)
    cut_off = [] if when_idle else await _running_turns(client)
    with pidfd_of(pid) as process:
        said = ""
        # The daemon tells nobody when it begins to rest.
        while not await _begins(client, when_idle):
            if (waits_for := await _waits_for(client)) != said:
                print_plain_line(waits_for)
                said = waits_for
            await anyio.sleep(_LOOK_AGAIN_S)
        with anyio.move_on_after(_DEADLINE_S) as waiting:
            await _ended(client, pid, process)
    if waiting.cancelled_caught:
        raise CliError(f"The daemon (pid {pid}) has not ended yet.", "See its log.")
    if arguments.json:
        print_json({"pid": pid, "stopped": True, "interruptedThreads": [one.id for one in cut_off]})
    else:
        stopped = f"The daemon has stopped (pid {pid})."
        stdout_console().print(Text.assemble(("✓ ", "bold green"), stopped))
        for thread in cut_off:
            was_cut_off = f"  The turn that ran in {_named(thread)} was interrupted."
            stdout_console().print(Text(was_cut_off, "yellow"))
    return Exit.DONE


def _named(thread: KnownThread) -> str:
    return f"{thread.short_id} “{one_line(thread.title, 60)}”"


async def _waits_for(client: Client) -> str:
    """Returns a sentence that names the threads that work, and those that ask something."""
    named = [
        _named(thread) + (", which asks you something" if thread.overview.asks else "")
        for thread in await own_threads(client)
        if thread.overview is not None and thread.overview.busy is not None
    ]
    return f"Waiting until no agent works{': ' if named else ''}{'; '.join(named)}."


async def _begins(client: Client, when_idle: bool) -> bool:
    """Returns whether the daemon has begun to stop."""
    wanted = {"whenIdle": True} if when_idle else {}
    answer = await ask(client, ShutdownResult, "sidecar/shutdown", **wanted)
    return answer.stopping


async def _running_turns(client: Client) -> list[KnownThread]:
    """Returns the threads with a running turn; the end of the daemon interrupts them."""
    return [
        thread
        for thread in await own_threads(client)
        if thread.overview is not None and (thread.overview.busy or "").startswith("turn")
    ]


async def _ended(client: Client, pid: int, process: int | None) -> None:
    if process is not None:
        await anyio.wait_readable(process)
        return
    with suppress(ConnectionLost):
        async for _ in client.stream():
            pass
    # Nothing tells of the end of a process that is not ours.
    while _exists(pid):  # noqa: ASYNC110
        await anyio.sleep(_LOOK_AGAIN_S / 10)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
