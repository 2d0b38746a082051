"""`trimpoint context`: shows how full a thread's context is, and with `--items` each item in it."""

import argparse
from functools import partial
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text
from trimpoint_protocol.methods import ContextAdvice, ContextInspection
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.cli.connection.client import Client, RemoteError, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import as_shown
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.context_view import context_table
from trimpoint.cli.views.inspection_view import inspection_view
from trimpoint.core.model.spelling import Spelling, spelled


def run(arguments: argparse.Namespace) -> int:
    """Shows the context."""
    return with_daemon(arguments, partial(_show, arguments))


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    status = await _status(client, arguments)
    if arguments.items:
        thread_id = status["threadId"]
        found = dict(await client.request("context/inspect", threadId=thread_id))
        return _print(arguments, found, _items(found))
    context = msgspec.convert(status, ContextStatus)
    code = _print(arguments, status, context_table(context, stdout_console().width))
    if context.level in ("warning", "critical") and not arguments.json:
        advice = await ask(client, ContextAdvice, "context/advice", threadId=context.thread_id)
        for one in advice.advice:
            stdout_console().print(Text(f"  {spelled(one.command, Spelling.SHELL)} {one.effect}"))
    return code


def _items(found: dict[str, Any]) -> RenderableType:
    return inspection_view(msgspec.convert(found, ContextInspection), stdout_console().width)


def _print(arguments: argparse.Namespace, answer: dict[str, Any], view: RenderableType) -> int:
    if arguments.json:
        print_json(as_shown(answer))
    else:
        stdout_console().print(view)
    return Exit.DONE


async def _status(client: Client, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the context's status. The id is sent to the daemon as it was typed, because the
    thread of a sub-agent is in no list but has a status.
    """
    if arguments.thread is not None:
        try:
            return dict(await client.request("context/status", threadId=arguments.thread))
        except RemoteError as error:
            if error.reason != "thread_not_found":
                raise
    thread = await chosen_thread(client, arguments)
    if not arguments.json:
        print_thread(thread, arguments)
    return dict(await client.request("context/status", threadId=thread.id))
