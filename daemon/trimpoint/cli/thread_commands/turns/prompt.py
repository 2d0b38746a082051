"""`trimpoint probe --prompt`: runs one turn on a new or an existing thread and streams it."""

import argparse
import os

from rich.text import Text

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.known_threads import current_folder, known
from trimpoint.cli.exits import UsageError
from trimpoint.cli.terminal import print_json, print_line, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, resumed
from trimpoint.cli.thread_commands.turns.running_turn import RunningTurn, check_login, exit_code
from trimpoint.cli.views.live_view import LiveView


async def prompt(arguments: argparse.Namespace, client: Client) -> int:
    """Runs one turn; the exit code is 0 if it completed."""
    await check_login(client)
    thread_id = await _thread(arguments, client)
    if not arguments.json:
        print_line(Text(f"thread {thread_id}", "dim"))
    text = [{"type": "text", "text": arguments.prompt}]
    started = await client.request("turn/start", threadId=thread_id, input=text)
    ids = thread_id, str(started["turn"]["id"])
    ended = await RunningTurn(
        client, LiveView(stdout_console(), thread_id), ids, as_json=arguments.json
    ).follow()
    if arguments.json:
        print_json({"threadId": thread_id, "turn": ended})
    return exit_code(ended)


async def _thread(arguments: argparse.Namespace, client: Client) -> str:
    if arguments.thread is not None or arguments.last:
        thread = known(await chosen_thread(client, arguments))
        await resumed(client, thread)
        return thread.id
    answer = await client.request("thread/start", cwd=folder(arguments.cwd))
    return str(answer["thread"]["id"])


def folder(named: str | None) -> str:
    """Returns the absolute path of the folder for a new thread.

    :raises UsageError: when there is no such folder.
    """
    path = os.path.abspath(os.path.expanduser(named or current_folder()))
    if not os.path.isdir(path):
        raise UsageError(f"--cwd {path}: there is no such folder.")
    return path
