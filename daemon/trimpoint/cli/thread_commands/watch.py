"""`trimpoint watch`: a thread as it happens, for as long as it is watched."""

import argparse
from contextlib import suppress
from functools import partial

import anyio
from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.cli.connection.connect import ask, with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.live_view import LiveView

# A thread whose operation is still under way is joined when that has ended; its events are shown
# meanwhile.
JOIN_WAIT_S = 5.0


def run(arguments: argparse.Namespace) -> int:
    """Watch until Ctrl-C, which is how it is meant to end.

    :raises NoDaemon: the daemon ended first.
    """
    with suppress(KeyboardInterrupt):
        return with_daemon(arguments, partial(_watch, arguments))
    return Exit.DONE


async def _watch(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments)
    joined = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_join, client, thread, joined)
        with anyio.move_on_after(JOIN_WAIT_S):
            await joined.wait()
        await client.request("orchestration/subscribeThread", threadId=thread.id)
        if not arguments.json:
            print_thread(thread)
        view = LiveView(stdout_console(), thread.id, with_meter=True)
        if not arguments.json:
            view.show_context(
                await ask(client, ContextStatus, "context/status", threadId=thread.id)
            )
        async for message in client.stream():
            if arguments.json:
                print_json(message)
            else:
                view.show(message)
    return Exit.DONE


async def _join(client: Client, thread: ThreadOverview, joined: anyio.Event) -> None:
    """Subscribes to Codex's notifications as well; an archived thread has none, only events."""
    if not thread.archived:
        with suppress(RemoteError):
            await client.request("thread/resume", threadId=thread.id, excludeTurns=True)
    joined.set()
