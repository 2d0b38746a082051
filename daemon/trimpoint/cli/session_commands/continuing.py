"""`trimpoint sessions continue`: starts a thread with the live context of a session of any
agent.
"""

import argparse
import os
from functools import partial

import msgspec
from rich.text import Text
from trimpoint_protocol.shapes.agent_sessions import ContinuedSession

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import one_line, print_json, stdout_console
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import short_id
from trimpoint.sessionlogs.homes import homes_to_send


def run(arguments: argparse.Namespace) -> int:
    """Starts the thread."""
    cwd = os.path.abspath(arguments.cwd) if arguments.cwd is not None else None
    return with_daemon(arguments, partial(_continue, arguments, cwd))


async def _continue(arguments: argparse.Namespace, cwd: str | None, client: Client) -> int:
    begun = await ask(
        client,
        ContinuedSession,
        "sessions/continue",
        sessionId=arguments.id,
        agent=arguments.agent,
        cwd=cwd,
        last=arguments.last,
        compact=arguments.compact,
        **homes_to_send(os.environ),
    )
    if arguments.json:
        print_json(msgspec.to_builtins(begun))
        return Exit.DONE
    console = stdout_console()
    held = f"{counted(begun.turns, 'turn', 'no')}, about {begun.est_tokens:,} tokens"
    console.print(Text(f"Thread {short_id(begun.thread_id)} in {one_line(begun.cwd)}: {held}."))
    for line in begun.left_out:
        console.print(Text(f"  left out: {one_line(line)}", "dim"))
    how = f'trimpoint ask -t {short_id(begun.thread_id)} "…"'
    console.print(Text(f"Go on with {how}", "dim"))
    return Exit.DONE
