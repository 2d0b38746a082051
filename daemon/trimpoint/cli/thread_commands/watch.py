"""`trimpoint watch`: shows the events of a thread as they happen."""

import argparse
from contextlib import suppress
from functools import partial

import anyio
from rich.text import Text
from trimpoint_protocol.methods import ThreadOverview, TimelinePage
from trimpoint_protocol.readmodel import ContextStatus, TimelineActivity, TimelineMessage

from trimpoint import event_loop
from trimpoint.cli.connection.client import Client, RemoteError, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.cli.exits import Exit, NoDaemon
from trimpoint.cli.terminal import print_json, print_line, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.live_view import LiveView
from trimpoint.cli.views.timeline_view import Marks, timeline_rows

# A thread whose operation is still under way is joined when that has ended; its events are shown
# meanwhile.
JOIN_WAIT_S = 5.0
_LOOK_AGAIN_S = 0.5
_LAST_ENTRIES = 40


def run(arguments: argparse.Namespace) -> int:
    """Shows events until Ctrl-C. On a terminal, it reconnects when the daemon has ended and runs
    again.

    :raises NoDaemon: when the daemon ended and standard output is not a terminal.
    """
    with suppress(KeyboardInterrupt):
        seen: list[str] = []
        while True:
            try:
                return with_daemon(arguments, partial(_watch, arguments, seen), starts=not seen)
            except NoDaemon:
                if not seen or arguments.json or not stdout_console().is_terminal:
                    raise
            # The next daemon of this place has the same thread.
            arguments.thread, arguments.last = seen[0], False
            waiting = "The daemon has ended. Waiting for the next one; Ctrl-C ends."
            print_line(Text(waiting, "yellow"))
            event_loop.run(_next_daemon, arguments)
    if stdout_console().is_terminal and not arguments.json:
        print_line(Text())  # behind the ^C that the terminal shows
    return Exit.DONE


async def _next_daemon(arguments: argparse.Namespace) -> None:
    settings = settings_of(arguments)
    # There is no event for a socket that does not exist yet.
    while await daemon_at(settings) is None:  # noqa: ASYNC110
        await anyio.sleep(_LOOK_AGAIN_S)


async def _watch(arguments: argparse.Namespace, seen: list[str], client: Client) -> int:
    """Shows the thread until the connection ends; its id is stored in `seen`."""
    thread = await chosen_thread(client, arguments)
    is_first, seen[:] = not seen, [thread.id]
    joined = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_join, client, thread, joined)
        with anyio.move_on_after(JOIN_WAIT_S):
            await joined.wait()
        await client.request("orchestration/subscribeThread", threadId=thread.id)
        view = LiveView(stdout_console(), thread.id, with_meter=True)
        if not arguments.json:
            if is_first:
                print_thread(thread)
                await _show_last_turn(client, thread.id)
            else:
                print_line(Text("A daemon runs again.", "dim"))
            view.show_context(
                await ask(client, ContextStatus, "context/status", threadId=thread.id)
            )
        async for message in client.stream():
            if arguments.json:
                print_json(message)
            else:
                view.show(message)
    return Exit.DONE


async def _show_last_turn(client: Client, thread_id: str) -> None:
    """Prints the entries of the last turn, so that a person knows where the conversation is."""
    params = {"threadId": thread_id, "limit": _LAST_ENTRIES}
    entries = (await ask(client, TimelinePage, "timeline/read", **params)).entries
    said = [one for one in entries if isinstance(one, TimelineMessage | TimelineActivity)]
    last = [entry for entry in said if entry.turn_id == said[-1].turn_id]
    for row in timeline_rows(last, Marks()):
        stdout_console().print(row)


async def _join(client: Client, thread: ThreadOverview, joined: anyio.Event) -> None:
    """Subscribes to Codex's notifications. An archived thread has none, only trimpoint's events."""
    if not thread.archived:
        with suppress(RemoteError):
            await client.request("thread/resume", threadId=thread.id, excludeTurns=True)
    joined.set()
